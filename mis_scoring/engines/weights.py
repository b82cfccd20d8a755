"""Load a decoder's weights: safetensors only, no code of the checkpoint, nothing left to random initialisation."""

from pathlib import Path
from typing import Any

from mis_scoring.core.decoder_files import pretrained_decoder
from mis_scoring.engines.architecture import ArchitectureError
from mis_scoring.engines.checkpoint import file_faults


def load_decoder(checkpoint_dir: Path, *, attention: str, dtype: str = "float32") -> Any:
    """Return the causal decoder in evaluation mode.

    Args:
        attention: a name known to transformers' AttentionInterface.
    Raises:
        ArchitectureError: a tensor is missing, left over or of another shape, or a file is missing, a pickle or of
            another model.
    """
    if wrong_files := file_faults(checkpoint_dir):
        raise ArchitectureError(str(checkpoint_dir), wrong_files)
    decoder, faults = pretrained_decoder(checkpoint_dir, attention=attention, dtype=dtype)
    if faults:
        raise ArchitectureError(str(checkpoint_dir), faults)
    return decoder.eval()
