"""What an engine refuses, and what it says about itself."""

import json
from pathlib import Path

import pytest

from mis_scoring.core.errors import DataError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.engines.architecture import ArchitectureError, architecture_faults
from mis_scoring.engines.cascade import CascadeEngine
from mis_scoring.engines.registry import engine_names, make_engine
from tests.unit.conftest import LABELS, VOCAB_SIZE, write_checkpoint

SUPPORTED = {"model_type": "qwen3", "max_position_embeddings": 256, "use_sliding_window": False, "sliding_window": None}


@pytest.mark.parametrize("name", sorted({*engine_names()} - {"prefill", "sglang"}))  # those want a GPU
def test_every_named_engine_of_a_cpu_can_be_made(name: str, qwen3: Path) -> None:
    engine = make_engine(name, qwen3)
    assert engine.max_tokens == 256
    assert set(engine.fingerprint) == {"engine", "device", "dtype", "cpu", "threads", "torch", "transformers"}
    assert engine.fingerprint["engine"] == name


def test_an_unknown_engine_is_refused_with_the_known_names(qwen3: Path) -> None:
    with pytest.raises(DataError, match="cascade, dense, prefill, sglang, single"):
        make_engine("vllm", qwen3)


def test_all_items_that_cannot_be_scored_are_named_at_once(qwen3: Path) -> None:
    items = [[1], [], [2] * 250, [VOCAB_SIZE], [3]]
    with pytest.raises(DataError) as caught:
        CascadeEngine(qwen3).label_logits([1] * 10, items, LABELS)
    message = str(caught.value)
    assert "item 1 is empty" in message
    assert "item 2 makes a prompt of 260 tokens, max 256" in message
    assert f"item 3 has an id outside the vocabulary of {VOCAB_SIZE}" in message
    assert "item 0" not in message
    assert "item 4" not in message


def test_the_packed_length_is_not_bounded_by_the_longest_prompt(qwen3: Path) -> None:
    assert CascadeEngine(qwen3).label_logits([1] * 100, [[5] * 40] * 20, LABELS).shape == (20, 2)


@pytest.mark.parametrize("query", [[], [-1], [VOCAB_SIZE]])
def test_a_query_that_cannot_be_read_is_refused(query: list[int], qwen3: Path) -> None:
    with pytest.raises(DataError, match="the query"):
        CascadeEngine(qwen3).label_logits(query, [[1]], LABELS)


def test_label_tokens_outside_the_vocabulary_are_refused(qwen3: Path) -> None:
    with pytest.raises(DataError, match="label_tokens"):
        CascadeEngine(qwen3).label_logits([1], [[1]], LabelTokens(yes=1, no=VOCAB_SIZE))


def test_a_supported_shape_has_no_faults() -> None:
    assert architecture_faults(SUPPORTED) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model_type": "gemma3_text"}, "gemma3_text"),
        ({"use_sliding_window": True, "sliding_window": 4096}, "sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding_attention"),
        ({"layer_types": ["linear_attention", "full_attention"]}, "linear_attention"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "dynamic"),
        ({"rope_parameters": {"rope_type": "longrope"}}, "longrope"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised"),
        ({"auto_map": {"AutoModel": "model.Model"}}, "auto_map"),
        ({"max_position_embeddings": None}, "max_position_embeddings"),
    ],
)
def test_a_shape_that_is_not_computed_is_a_fault(change: dict[str, object], named: str) -> None:
    faults = architecture_faults(SUPPORTED | change)
    assert len(faults) == 1
    assert named in faults[0]


def test_an_engine_lists_all_faults_of_a_checkpoint(qwen3: Path, tmp_path: Path) -> None:
    config = json.loads((qwen3 / "config.json").read_text())
    changed = config | {"model_type": "qwen3_next", "layer_types": ["linear_attention", "full_attention"]}
    (tmp_path / "config.json").write_text(json.dumps(changed))
    with pytest.raises(ArchitectureError) as caught:
        CascadeEngine(tmp_path)
    assert len(caught.value.faults) == 2
    assert isinstance(caught.value, DataError)


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchitectureError, match=r"config\.json cannot be read"):
        CascadeEngine(tmp_path)


def test_pickled_weights_are_never_read(qwen3: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((qwen3 / "config.json").read_text())
    (tmp_path / "pytorch_model.bin").write_bytes(b"not read")
    with pytest.raises(ArchitectureError, match="no safetensors file"):
        CascadeEngine(tmp_path)


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = write_checkpoint(tmp_path / "torn", "qwen3")
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.self_attn.q_norm.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ArchitectureError, match=r"q_norm\.weight"):
        CascadeEngine(folder)
