"""Which checkpoints the CPU engines take: Llama-, Qwen2- and Qwen3-shaped decoders with full attention in every layer.

An engine that ignored a sliding window or a rotation that depends on the sequence length would give plausible, wrong
scores; such a checkpoint is refused before its weights are read.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mis_scoring.core.errors import DataError

MODEL_TYPES = ("llama", "qwen2", "qwen3")
# "dynamic" and "longrope" rotate by the length of the whole sequence: a score would depend on its neighbours.
ROPE_TYPES = ("default", "linear", "llama3", "yarn")


class ArchitectureError(DataError):
    """A checkpoint has a shape that the engine does not compute, all faults listed.

    Attributes:
        faults: one sentence a fault.
    """

    def __init__(self, folder: str, faults: Sequence[str]) -> None:
        self.folder = folder
        self.faults = list(faults)
        super().__init__("\n".join([f"checkpoint {folder} cannot be served:", *(f"  - {f}" for f in faults)]))


def read_config(folder: Path) -> dict[str, Any]:
    """Read a checkpoint's config.json.

    Raises:
        ArchitectureError: it is not there, is no JSON object, or describes another shape.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArchitectureError(str(folder), [f"config.json cannot be read: {error}"]) from error
    faults = architecture_faults(config) if isinstance(config, dict) else ["config.json is no JSON object"]
    if faults:
        raise ArchitectureError(str(folder), faults)
    return dict(config)


def architecture_faults(config: Mapping[str, Any]) -> list[str]:
    """Return what in a config.json the engines do not compute, one sentence a fault."""
    faults = []
    if config.get("model_type") not in MODEL_TYPES:
        faults.append(f"model_type is {config.get('model_type')!r}; known: {', '.join(MODEL_TYPES)}")
    if config.get("use_sliding_window") or (config.get("sliding_window") and "use_sliding_window" not in config):
        faults.append(f"sliding_window is {config.get('sliding_window')!r}; every token must see the whole query")
    other_layers = sorted(set(config.get("layer_types") or ()) - {"full_attention"})
    if other_layers:
        faults.append(f"layer_types has {', '.join(other_layers)}; every layer must be full_attention")
    rope_type = _rope_type(config)
    if rope_type not in ROPE_TYPES:
        faults.append(f"rope type is {rope_type!r}, known: {', '.join(ROPE_TYPES)}")
    if config.get("quantization_config"):
        faults.append("the weights are quantised; these engines compute in float32")
    if config.get("auto_map"):
        faults.append("auto_map names code in the checkpoint, which is never run")
    if not isinstance(config.get("max_position_embeddings"), int):
        faults.append("max_position_embeddings is missing; it bounds the length of a prompt")
    return faults


def _rope_type(config: Mapping[str, Any]) -> str:
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return str(rope.get("rope_type") or rope.get("type") or "default")
