"""The base that is fine-tuned: safetensors only, no code of the folder run.

Which folders can be trained is what the engines can serve (`mis_scoring.engines.checkpoint.require_checkpoint`).
"""

from pathlib import Path
from typing import Any

from mis_scoring.core.decoder_files import pretrained_decoder
from mis_scoring.core.errors import DataError


class BaseModelError(DataError):
    """The weights of a folder are not those of its config, all faults listed.

    Attributes:
        faults: one sentence a fault.
    """

    def __init__(self, folder: Path, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join([f"base {folder}: {len(faults)} fault(s)", *(f"  - {f}" for f in faults)]))


def load_base(folder: Path, *, device: str = "cpu") -> Any:
    """Return the decoder in float32: what is stored as bfloat16 is trained as float32.

    Raises:
        BaseModelError: a tensor is missing, left over or of another shape.
    """
    # without dropout a step depends on its batch alone, so that a stopped run can go on the same
    decoder, faults = pretrained_decoder(folder, attention="sdpa", attention_dropout=0.0)
    if faults:
        raise BaseModelError(folder, faults)
    return decoder.to(device)


def max_tokens_of(decoder: Any) -> int:
    """Return the longest prompt, query and one item, that the decoder was made for."""
    return int(decoder.config.max_position_embeddings)
