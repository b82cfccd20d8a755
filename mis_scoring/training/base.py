"""The base that is fine-tuned: a Llama-, Qwen2- or Qwen3-shaped folder, safetensors only, no code of the folder run."""

import json
from pathlib import Path
from typing import Any

from mis_scoring.core.decoder_files import pretrained_decoder
from mis_scoring.core.errors import DataError

MODEL_TYPES = ("llama", "qwen2", "qwen3")


class BaseModelError(DataError):
    """A folder cannot be fine-tuned, all faults listed.

    Attributes:
        faults: one sentence a fault.
    """

    def __init__(self, folder: Path, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join([f"base {folder}: {len(faults)} fault(s)", *(f"  - {f}" for f in faults)]))


def read_base_config(folder: Path) -> dict[str, Any]:
    """Return config.json.

    Raises:
        BaseModelError: a file is missing, or the model is of another shape.
    """
    faults = [f"{name} is missing" for name in ("config.json", "tokenizer.json") if not (folder / name).is_file()]
    if not list(folder.glob("*.safetensors")):
        faults.append("no safetensors file: convert the weights first, a pickle is never read")
    config: Any = {}
    if (folder / "config.json").is_file():
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except ValueError as error:
            faults.append(f"config.json is no JSON: {error}")
    if config and config.get("model_type") not in MODEL_TYPES:
        faults.append(f"model_type is {config.get('model_type')!r}; known: {', '.join(MODEL_TYPES)}")
    if faults:
        raise BaseModelError(folder, faults)
    return dict(config)


def load_base(folder: Path, *, device: str = "cpu") -> Any:
    """Return the decoder in float32: what is stored as bfloat16 is trained as float32.

    Raises:
        BaseModelError: a tensor is missing, left over or of another shape.
    """
    read_base_config(folder)
    # without dropout a step depends on its batch alone, so that a stopped run can go on the same
    decoder, faults = pretrained_decoder(folder, attention="sdpa", attention_dropout=0.0)
    if faults:
        raise BaseModelError(folder, faults)
    return decoder.to(device)


def max_tokens_of(decoder: Any) -> int:
    """Return the longest prompt, query and one item, that the decoder was made for."""
    return int(decoder.config.max_position_embeddings)
