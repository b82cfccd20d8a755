"""A GGUF file becomes the checkpoint that it was made from: same logits, same token ids, nothing guessed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.awkward_texts import AWKWARD_TEXTS, texts_that_spell
from mis_scoring.engines.checkpoint import checkpoint_faults
from mis_scoring.engines.registry import make_engine
from mis_scoring.training.gguf_checkpoint import GgufError, convert_gguf, unpermuted
from tests.chat_tokenizer import CHAT_TOKENS
from tests.tiny_gguf import permuted, write_tiny_gguf

TOKENS = [[5, 300, 41, 7, 7, 260, 90, 12, 33]]


def logits_of(decoder: Any) -> np.ndarray:
    import torch

    with torch.inference_mode():
        return np.asarray(decoder(torch.tensor(TOKENS)).logits.numpy())


def load(folder: Path) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@pytest.mark.parametrize("is_tied", [True, False], ids=["tied", "own_head"])
def test_a_converted_model_has_the_logits_of_its_source(is_tied: bool, tmp_path: Path) -> None:
    path, _, decoder = write_tiny_gguf(tmp_path, is_tied=is_tied)
    convert_gguf(path, tmp_path / "model")
    expected = logits_of(decoder)
    assert expected.std() > 0.1
    assert float(np.abs(logits_of(load(tmp_path / "model")) - expected).max()) <= 1e-5


def test_quantised_tensors_come_back_within_their_steps(tmp_path: Path) -> None:
    path, _, decoder = write_tiny_gguf(tmp_path, quantised=("ffn_down.weight"))
    convert_gguf(path, tmp_path / "model")
    source, found = (d.state_dict()["model.layers.1.mlp.down_proj.weight"] for d in (decoder, load(tmp_path / "model")))
    assert 0.0 < float((source - found).abs().max()) <= float(source.abs().max()) / 100


def test_a_converted_folder_can_be_served_and_holds_nothing_else(tmp_path: Path) -> None:
    path, _, _ = write_tiny_gguf(tmp_path)
    convert_gguf(path, tmp_path / "model")
    assert {file.name for file in (tmp_path / "model").iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    assert checkpoint_faults(tmp_path / "model") == []
    assert make_engine("cascade", tmp_path / "model").max_tokens == 128


def test_the_config_says_what_the_file_says_in_round_numbers(tmp_path: Path) -> None:
    path, _, _ = write_tiny_gguf(tmp_path)
    convert_gguf(path, tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert config["rms_norm_eps"] == 1e-5
    assert config["rope_parameters"] == {"rope_type": "default", "rope_theta": 100_000.0}
    assert config["tie_word_embeddings"] is True
    assert (config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]) == (4, 2, 8)
    assert (config["bos_token_id"], config["eos_token_id"], config["pad_token_id"]) == (1, 2, 2)


def test_a_converted_tokenizer_gives_the_ids_of_its_source(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    path, tokenizer_json, _ = write_tiny_gguf(tmp_path)
    convert_gguf(path, tmp_path / "model")
    source, found = (Tokenizer.from_file(str(p)) for p in (tokenizer_json, tmp_path / "model" / "tokenizer.json"))
    texts = [*AWKWARD_TEXTS, *texts_that_spell(CHAT_TOKENS)]
    for is_spelled in (False, True):
        source.encode_special_tokens = found.encode_special_tokens = is_spelled
        assert [found.encode(text).ids for text in texts] == [source.encode(text).ids for text in texts]
    assert found.encode("x  5").tokens == ["x", "\u0120\u0120", "5"]  # without the digit rule the blank joins the 5
    assert found.decode(found.encode("Z\u00fcrich \u6771").ids) == "Z\u00fcrich \u6771"


@given(n_heads=st.integers(1, 5), half=st.integers(1, 8), n_columns=st.integers(1, 4))
def test_unpermuting_undoes_the_files_order(n_heads: int, half: int, n_columns: int) -> None:
    rows = np.arange(n_heads * 2 * half * n_columns).reshape(-1, n_columns)
    assert np.array_equal(unpermuted(permuted(rows, n_heads), n_heads), rows)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"general.architecture": "gemma"}, "general.architecture is 'gemma'"),
        ({"tokenizer.ggml.pre": "llama-bpe"}, "tokenizer.ggml.pre is 'llama-bpe'; known: 'smollm'"),
        ({"tokenizer.ggml.model": "llama"}, "tokenizer.ggml.model is 'llama'"),
        ({"tokenizer.ggml.add_bos_token": True}, "add_bos_token"),
        ({"tokenizer.ggml.merges": None}, "tokenizer.ggml.merges is missing"),
        ({"llama.rope.scaling.type": "yarn"}, "rotations are not scaled"),
        ({"llama.rope.freq_base": None}, "llama.rope.freq_base is missing"),
        ({"llama.attention.head_count": 3}, "3 heads of 8 dimensions are not 32"),
        ({"llama.block_count": 1}, "tensor blk.1.attn_k.weight is unknown"),
    ],
)
def test_a_file_that_is_not_known_whole_is_refused(changes: dict[str, Any], named: str, tmp_path: Path) -> None:
    path, _, _ = write_tiny_gguf(tmp_path, changes=changes)
    with pytest.raises(GgufError, match=named):
        convert_gguf(path, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_missing_tensor_is_refused(tmp_path: Path) -> None:
    path, _, _ = write_tiny_gguf(tmp_path, without="blk.1.attn_k.weight")
    with pytest.raises(GgufError) as caught:
        convert_gguf(path, tmp_path / "model")
    assert caught.value.faults == ["tensor blk.1.attn_k.weight is missing"]


def test_all_faults_of_a_file_are_listed(tmp_path: Path) -> None:
    changes = {"tokenizer.ggml.pre": "qwen2", "llama.context_length": None, "llama.rope.scaling.factor": 4.0}
    path, _, _ = write_tiny_gguf(tmp_path, changes=changes)
    with pytest.raises(GgufError) as caught:
        convert_gguf(path, tmp_path / "model")
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no model at all, but long enough for a header" * 4])
def test_a_file_that_is_no_gguf_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(GgufError, match="cannot be read as GGUF"):
        convert_gguf(tmp_path / "x.gguf", tmp_path / "model")
