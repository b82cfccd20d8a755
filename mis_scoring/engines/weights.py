"""Load a decoder's weights: safetensors only, no code of the checkpoint, nothing left to random initialisation."""

from pathlib import Path
from typing import Any

from mis_scoring.engines.architecture import ArchitectureError
from mis_scoring.engines.checkpoint import file_faults


def load_decoder(checkpoint_dir: Path, *, attention: str) -> Any:
    """Return the causal decoder in float32, in evaluation mode.

    Args:
        attention: a name known to transformers' AttentionInterface.
    Raises:
        ArchitectureError: a tensor is missing, left over or of another shape, or a file is missing, a pickle or of
            another model.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]

    if wrong_files := file_faults(checkpoint_dir):
        raise ArchitectureError(str(checkpoint_dir), wrong_files)
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        checkpoint_dir,
        dtype=torch.float32,
        attn_implementation=attention,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
    )
    decoder, info = loaded
    kinds = ("missing_keys", "unexpected_keys", "mismatched_keys")
    faults = [f"{kind.replace('_', ' ')}: {sorted(map(str, info[kind]))}" for kind in kinds if info.get(kind)]
    if faults:
        raise ArchitectureError(str(checkpoint_dir), faults)
    return decoder.eval()
