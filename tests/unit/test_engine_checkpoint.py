"""The files of a checkpoint: what does not belong together or may not be read, all at once."""

import json
from pathlib import Path

import pytest

from mis_scoring.engines.architecture import ArchitectureError, architecture_faults
from mis_scoring.engines.checkpoint import PICKLES, checkpoint_faults, require_checkpoint
from mis_scoring.engines.registry import make_engine
from tests.unit.conftest import VOCAB_SIZE, write_checkpoint


def write_tokenizer_of(folder: Path, n_tokens: int, *, n_added: int = 0) -> None:
    from tokenizers import Tokenizer, models

    tokenizer = Tokenizer(models.BPE({f"t{i}": i for i in range(n_tokens)}, []))
    tokenizer.add_special_tokens([f"<{i}>" for i in range(n_added)])
    tokenizer.save(str(folder / "tokenizer.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_checkpoint(tmp_path, "qwen2")
    write_tokenizer_of(tmp_path, VOCAB_SIZE - 2, n_added=2)
    return tmp_path


def test_a_whole_checkpoint_has_no_faults(folder: Path) -> None:
    assert checkpoint_faults(folder) == []
    require_checkpoint(folder)


@pytest.mark.parametrize(("n_tokens", "n_added"), [(VOCAB_SIZE + 1, 0), (VOCAB_SIZE, 1)])
def test_a_tokenizer_with_ids_that_the_model_does_not_have_is_refused(
    n_tokens: int, n_added: int, folder: Path
) -> None:
    write_tokenizer_of(folder, n_tokens, n_added=n_added)
    (fault,) = checkpoint_faults(folder)
    assert f"tokenizer.json has token ids up to {VOCAB_SIZE}, the embedding {VOCAB_SIZE} rows" in fault
    with pytest.raises(ArchitectureError, match="another model's tokenizer"):
        make_engine("cascade", folder)


def test_a_vocabulary_padded_beyond_the_tokenizer_is_fine(folder: Path) -> None:
    write_tokenizer_of(folder, 100)
    assert checkpoint_faults(folder) == []


def test_a_config_of_another_vocabulary_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 1_000}))
    assert checkpoint_faults(folder) == [f"config.json has vocab_size 1000, the embedding {VOCAB_SIZE} rows"]


@pytest.mark.parametrize("suffix", PICKLES)
def test_a_pickle_is_refused_even_beside_weights_that_could_be_read(suffix: str, folder: Path) -> None:
    (folder / f"pytorch_model{suffix}").write_bytes(b"not read")
    assert checkpoint_faults(folder) == [
        f"pytorch_model{suffix} is a pickle, which is never read: save as safetensors and remove it"
    ]
    with pytest.raises(ArchitectureError, match="is a pickle"):
        make_engine("cascade", folder)


@pytest.mark.parametrize(
    "content", [b"", b"\x02\x00\x00\x00\x00\x00\x00\x00[]", b"\xff" * 16, b"\x05\x00\x00\x00\x00\x00\x00\x00abcde"]
)
def test_weights_that_are_no_safetensors_are_refused(content: bytes, folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(content)
    (fault,) = checkpoint_faults(folder)
    assert fault.startswith("model.safetensors is no safetensors file")


def test_all_faults_of_a_folder_are_listed(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "mamba", "vocab_size": 7}))
    (folder / "tokenizer.json").write_text("{")
    (folder / "optimizer.pt").write_bytes(b"")
    named = ("model_type is 'mamba'", "optimizer.pt is a pickle", "vocab_size 7", "tokenizer.json cannot be read")
    faults = checkpoint_faults(folder)
    assert len(faults) == len(named)
    assert all(part in fault for part, fault in zip(named, faults, strict=True))


def test_an_empty_folder_lists_what_is_missing(tmp_path: Path) -> None:
    faults = checkpoint_faults(tmp_path)
    assert len(faults) == 3
    assert all(any(part in fault for fault in faults) for part in ("config.json", "tokenizer.json", "safetensors"))


def test_qwen2_is_computed_unless_it_slides_a_window() -> None:
    qwen2 = {"model_type": "qwen2", "max_position_embeddings": 256, "use_sliding_window": False, "sliding_window": 64}
    assert architecture_faults(qwen2) == []
    sliding = {"use_sliding_window": True, "layer_types": ["full_attention", "sliding_attention"]}
    assert len(architecture_faults(qwen2 | sliding)) == 2
