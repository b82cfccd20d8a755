"""Load a decoder with transformers: safetensors only, no code of the folder, and every tensor accounted for."""

from pathlib import Path
from typing import Any


def pretrained_decoder(
    folder: Path, *, attention: str, dtype: str = "float32", **config_changes: Any
) -> tuple[Any, list[str]]:
    """Return the causal decoder, and the tensors that are missing, left over or of another shape.

    Args:
        attention: a name known to transformers' AttentionInterface.
        config_changes: values of config.json that differ for this use.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=getattr(torch, dtype),
        attn_implementation=attention,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
        **config_changes,
    )
    decoder, info = loaded
    kinds = ("missing_keys", "unexpected_keys", "mismatched_keys")
    return decoder, [f"{kind.replace('_', ' ')}: {sorted(map(str, info[kind]))}" for kind in kinds if info.get(kind)]
