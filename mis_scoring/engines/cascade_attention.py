"""Attention of packed requests in two parts, merged by log-sum-exp: no T x T mask, no copy of the query's keys.

Query tokens attend causally. An item's token attends to the whole query without a mask, and causally inside its item;
softmax over both parts together is the two softmaxes weighted by their sums. Requests of one pass do not meet. Work
grows with Lq^2/2 + sum(Li) * Lq + sum(Li^2), so linearly in the number of items; memory grows with the packed tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch

from mis_scoring.engines.cascade_layout import CascadePart, ItemGroup

NAME = "semlabel_cascade"


def cascade_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float,
    parts: Sequence[CascadePart],
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend as equation 4 says, inside each packed request.

    Args:
        query: (1, H, T, D).
        key: (1, KV, T, D).
        value: (1, KV, T, D).
        attention_mask: None; the layout stands for it.
        parts: the requests, one after the other.
    Returns:
        (1, T, H, D), as transformers' AttentionInterface wants it, and no weights.
    """
    layer = int(module.layer_idx)  # type: ignore[arg-type]
    attended = torch.empty_like(query)
    for part in parts:
        own_query, own_key, own_value = (tensor[:, :, part.rows] for tensor in (query, key, value))
        attended[:, :, part.rows] = _attend_request(own_query, own_key, own_value, part, layer, scaling)
    return attended.transpose(1, 2), None


def _attend_request(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, part: CascadePart, layer: int, scaling: float
) -> torch.Tensor:
    n = part.layout.query_tokens
    groups = query.shape[1] // key.shape[1]
    shared = _query_keys(key[:, :, :n], value[:, :, :n], part, layer)
    attended = torch.empty_like(query)
    if n:
        attended[:, :, :n] = _attend_query(query[:, :, :n], *shared, groups, scaling)
    if query.shape[2] > n:
        on_query, sum_on_query = _attend_shared(query[:, :, n:], *shared, scaling)
        on_self, sum_on_self = torch.empty_like(on_query), torch.empty_like(sum_on_query)
        for group in part.layout.groups:
            targets = torch.from_numpy(group.targets) - n
            on_self[:, :, targets], sum_on_self[:, :, targets] = _attend_self(query, key, value, group, scaling)
        weight = torch.sigmoid(sum_on_self - sum_on_query)[..., None]
        attended[:, :, n:] = torch.lerp(on_query, on_self, weight)
    return attended


def _query_keys(
    key: torch.Tensor, value: torch.Tensor, part: CascadePart, layer: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the query's keys and values: those of this pass, kept where that is asked, or those of an earlier one."""
    if part.query_keys is None:
        return key, value
    if part.layout.query_tokens:
        part.query_keys[layer] = (key.clone(), value.clone())  # a view would hold the whole pass
    kept: tuple[torch.Tensor, torch.Tensor] = part.query_keys[layer]
    return kept


def _attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float, *, is_causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return softmax(QK)V (B, H, L, D) and the log of its sum (B, H, L)."""
    attended, log_sum = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, is_causal, scale=scaling
    )
    return attended, log_sum


def _attend_query(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, groups: int, scaling: float
) -> torch.Tensor:
    return _attend(query, _repeat(key, groups), _repeat(value, groups), scaling, is_causal=True)[0]


def _attend_shared(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend to the query without a mask; heads that share a key are rows of one matrix, so no key is repeated."""
    _, heads, tokens, size = query.shape
    folded = query.reshape(1, key.shape[1], -1, size)
    attended, log_sum = _attend(folded, key, value, scaling, is_causal=False)
    return attended.reshape(1, heads, tokens, size), log_sum.reshape(1, heads, tokens)


def _attend_self(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, group: ItemGroup, scaling: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend inside each item of a group: (1, H, tokens, D) and (1, H, tokens)."""
    places = torch.from_numpy(group.places)
    rows = torch.from_numpy(group.rows)
    own_query, own_key, own_value = (t[0][:, places].transpose(0, 1) for t in (query, key, value))
    groups = query.shape[1] // key.shape[1]
    attended, log_sum = _attend(
        own_query, _repeat(own_key, groups), _repeat(own_value, groups), scaling, is_causal=True
    )
    return (
        attended.transpose(0, 1).flatten(1, 2)[None, :, rows],
        log_sum.transpose(0, 1).flatten(1, 2)[None, :, rows],
    )


def _repeat(heads: torch.Tensor, times: int) -> torch.Tensor:
    return heads if times == 1 else heads.repeat_interleave(times, dim=1)
