"""Attention of a query on its own, and of items after it, by torch's own scaled dot product."""

from typing import Any

import torch
import torch.nn.functional as F

NAME = "semlabel_after_query"


def attend_after_query(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float,
    query_keys: dict[int, tuple[torch.Tensor, torch.Tensor]],
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend causally; keep a layer's keys and values on its first call, and put them before an item's afterwards.

    Args:
        query: (B, H, L, D); B is 1 on the first call.
        key: (B, KV, L, D).
        value: (B, KV, L, D).
        attention_mask: None.
        query_keys: by layer, the query's keys and values; filled by the first pass, read by later ones.
    Returns:
        (B, L, H, D) and no weights.
    """
    layer = int(module.layer_idx)  # type: ignore[arg-type]
    if layer not in query_keys:
        query_keys[layer] = (key, value)
        mask = None
    else:
        before = [part.expand(len(key), -1, -1, -1) for part in query_keys[layer]]
        key, value = torch.cat([before[0], key], dim=2), torch.cat([before[1], value], dim=2)
        causal = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device)
        mask = causal.tril(key.shape[2] - query.shape[2])
    repeats = query.shape[1] // key.shape[1]
    key, value = (t.repeat_interleave(repeats, dim=1) for t in (key, value))
    attended = F.scaled_dot_product_attention(query, key, value, mask, is_causal=mask is None, scale=scaling)
    return attended.transpose(1, 2), None
