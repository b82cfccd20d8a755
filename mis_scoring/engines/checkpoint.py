"""Whether the files of a checkpoint folder belong together and may be read: all faults, before a weight is loaded."""

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mis_scoring.engines.architecture import ArchitectureError, architecture_faults

PICKLES = (".bin", ".ckpt", ".joblib", ".pickle", ".pkl", ".pt", ".pth")
_EMBEDDING = "model.embed_tokens.weight"
_MAX_HEADER_BYTES = 100_000_000  # as the format says


def require_checkpoint(folder: Path) -> None:
    """Refuse a folder that no labeler can be made from.

    Raises:
        ArchitectureError: lists every fault.
    """
    faults = checkpoint_faults(folder)
    if faults:
        raise ArchitectureError(str(folder), faults)


def checkpoint_faults(folder: Path) -> list[str]:
    """Return what is wrong with a folder of config.json, safetensors and tokenizer.json, one sentence a fault."""
    config, faults = _read_json(folder / "config.json")
    missing = [] if (folder / "tokenizer.json").is_file() else ["tokenizer.json is missing"]
    return faults + (architecture_faults(config) if not faults else []) + missing + file_faults(folder)


def file_faults(folder: Path) -> list[str]:
    """Return what is wrong with the weights' files, and with the tokenizer if it is there."""
    pickles = [
        f"{path.name} is a pickle, which is never read: save as safetensors and remove it" for path in _pickles(folder)
    ]
    if not list(folder.glob("*.safetensors")):
        return [*pickles, "no safetensors file"]
    n_rows, faults = _embedding_rows(folder)
    return pickles + faults + ([] if n_rows is None else list(_size_faults(folder, n_rows)))


def _pickles(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in PICKLES)


def _size_faults(folder: Path, n_rows: int) -> Iterator[str]:
    config, _ = _read_json(folder / "config.json")
    if config.get("vocab_size") not in (None, n_rows):
        yield f"config.json has vocab_size {config['vocab_size']}, the embedding {n_rows} rows"
    if not (folder / "tokenizer.json").is_file():
        return
    tokenizer, faults = _read_json(folder / "tokenizer.json")
    yield from faults
    highest = max(_token_ids(tokenizer), default=-1)
    if highest >= n_rows:
        yield (
            f"tokenizer.json has token ids up to {highest}, the embedding {n_rows} rows: it is another model's "
            "tokenizer, or has tokens that the model does not know"
        )


def _token_ids(tokenizer: Mapping[str, Any]) -> Iterator[int]:
    vocabulary = (tokenizer.get("model") or {}).get("vocab") or {}
    # A unigram model has a list, in the order of the ids.
    yield from vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))
    yield from (token.get("id", -1) for token in tokenizer.get("added_tokens") or [])


def _embedding_rows(folder: Path) -> tuple[int | None, list[str]]:
    """Return the embedding's rows as the files' headers say, None where none has it, and headers that are broken."""
    rows, faults = None, []
    for path in sorted(folder.glob("*.safetensors")):
        try:
            header = _header(path)
        except (OSError, ValueError, struct.error) as error:
            faults.append(f"{path.name} is no safetensors file: {error}")
            continue
        if _EMBEDDING in header:
            rows = int(header[_EMBEDDING]["shape"][0])
    return rows, faults


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        (n_bytes,) = struct.unpack("<Q", file.read(8))
        if n_bytes > _MAX_HEADER_BYTES:
            raise ValueError(f"its header would have {n_bytes} bytes")
        header = json.loads(file.read(n_bytes))
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")
    return header


def _read_json(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return {}, [f"{path.name} cannot be read: {error}"]
    return (content, []) if isinstance(content, dict) else ({}, [f"{path.name} is no JSON object"])
