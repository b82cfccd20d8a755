"""Cosines and sines of every position, as transformers computes them for the checkpoint."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def rotary_table(folder: Path, *, n_positions: int, head_dim: int) -> "torch.Tensor":
    """Return (n_positions, head_dim) float32: head_dim / 2 cosines, then as many sines.

    A frequency turns column d together with column d + head_dim / 2.
    """
    import torch
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    frequencies, factor = _frequencies(config, head_dim)
    angles = torch.arange(n_positions, dtype=torch.float32)[:, None] * frequencies.float()
    return torch.cat([angles.cos(), angles.sin()], dim=1) * factor


def _frequencies(config: object, head_dim: int) -> "tuple[torch.Tensor, float]":
    """Return (head_dim / 2,) radians a position, and what cosines and sines are multiplied with."""
    import torch
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = config.rope_parameters  # type: ignore[attr-defined]
    if rope["rope_type"] != "default":
        frequencies, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config)
        return frequencies, float(factor)
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    return 1.0 / (rope["rope_theta"] ** exponents), 1.0
