"""Which checkpoints SGLang's Multiple-Item Scoring takes, beyond what the engines in torch ask (`architecture`).

SGLang and FlashInfer check none of this: a wrong head dimension is an illegal memory access, a small vocabulary an
index out of range, and a sliding window is switched off without a word for packed items.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mis_scoring.engines.architecture import ArchitectureError, read_config
from mis_scoring.engines.checkpoint import file_faults

DELIMITER = 9999  # SGLang's MIS_DELIMITER_TOKEN_ID: no text's token, but a row of the embedding
HEAD_DIMS = (64, 128, 256)


def read_servable_config(folder: Path) -> dict[str, Any]:
    """Read a checkpoint's config.json.

    Raises:
        ArchitectureError: lists every reason why SGLang cannot serve it for packed items.
    """
    config = read_config(folder)
    if faults := servable_faults(config) + file_faults(folder):
        raise ArchitectureError(str(folder), faults)
    return config


def servable_faults(config: Mapping[str, Any]) -> list[str]:
    """Return what in a config.json packed scoring by SGLang does not take, one sentence a fault."""
    faults = []
    head_dim = config.get("head_dim") or config.get("hidden_size", 0) // (config.get("num_attention_heads") or 1)
    if head_dim not in HEAD_DIMS:
        known = ", ".join(map(str, HEAD_DIMS))
        faults.append(f"head_dim is {head_dim}; FlashInfer's kernels know {known}: train with one of them")
    if config.get("vocab_size", 0) <= DELIMITER:
        faults.append(
            f"vocab_size is {config.get('vocab_size')}; SGLang delimits items by token {DELIMITER}: pad the "
            "embedding to 10,240 rows"
        )
    return faults
