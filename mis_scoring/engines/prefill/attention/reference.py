"""Attention in plain torch, request by request, with the mask written out: the oracle of the others. float32 inside."""

from dataclasses import dataclass

import torch

from mis_scoring.engines.prefill.attention.interface import DevicePlan, Heads, Tables
from mis_scoring.engines.prefill.kernels.plain import PlainKernels, write_rows
from mis_scoring.engines.prefill.plan import ForwardPlan
from mis_scoring.engines.prefill.rows import Rows


@dataclass(frozen=True, kw_only=True)
class ReferenceAttention:
    """See `Attention`."""

    kernels: PlainKernels

    @property
    def name(self) -> str:
        """See `Attention`."""
        return "reference"

    @property
    def is_batch_invariant(self) -> bool:
        """See `Attention`; here a product's shape is that of a request."""
        return False

    def tables(self, plan: ForwardPlan) -> Tables:
        """See `Attention`."""
        return {}

    def attend(self, heads: Heads, plan: DevicePlan) -> None:
        """See `Attention`."""
        queries = rotated_queries(self.kernels, heads, plan)
        for part in range(len(plan.host.query_starts) - 1):
            keys = _tokens(plan.host, part)
            rows, tokens = keys, keys
            if heads.is_readout:
                rows = torch.arange(*plan.host.part_items[part : part + 2].tolist())
                tokens = plan.arrays["readout_tokens"].cpu()[rows]
            mask = _mask(plan, tokens, keys)
            found = attend_dense(queries[rows], heads.keys[keys], heads.values[keys], mask, self.kernels.head_dim)
            write_some_rows(found, heads.out, rows)


def rotated_queries(kernels: PlainKernels, heads: Heads, plan: DevicePlan) -> torch.Tensor:
    """Return the queries with norm and rotation, rounded as the heads are, in a tensor of their own."""
    positions = plan.arrays["positions"]
    if heads.is_readout:
        positions = positions[plan.arrays["readout_tokens"]]
    return kernels.rotated(heads.queries, heads.query_norm, positions).to(heads.queries.dtype)


def attend_dense(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor, head_dim: int
) -> torch.Tensor:
    """Return softmax(QK / sqrt(head_dim))V of every head, (m, n_heads * head_dim) float32.

    Args:
        queries: (m, n_heads * head_dim); keys, values: (n, n_kv_heads * head_dim).
        mask: (m, n), what a row sees.
    """
    k, v = (part.float().unflatten(1, (-1, head_dim)).transpose(0, 1) for part in (keys, values))
    q = queries.float().unflatten(1, (len(k), -1, head_dim)).permute(1, 2, 0, 3)
    scores = (q @ k[:, None].transpose(2, 3)) * head_dim**-0.5
    weights = scores.masked_fill(~mask.to(scores.device), float("-inf")).softmax(dim=-1)
    return (weights @ v[:, None]).permute(2, 0, 1, 3).flatten(1)


def write_some_rows(wide: torch.Tensor, out: Rows, rows: torch.Tensor) -> None:
    """Write float32 values into some rows of `out`."""
    found = Rows(values=torch.empty_like(wide, dtype=out.values.dtype), fixed_scale=out.fixed_scale)
    write_rows(wide, found)
    as_bytes = torch.uint8 if out.is_fp8 else out.values.dtype  # torch copies e4m3 as bytes alone
    out.values.view(as_bytes)[rows] = found.values.view(as_bytes)


def _tokens(plan: ForwardPlan, part: int) -> torch.Tensor:
    items = plan.item_starts[plan.part_items]
    spans = (plan.query_starts[part : part + 2], items[part : part + 2])
    return torch.cat([torch.arange(int(start), int(end)) for start, end in spans])


def _mask(plan: DevicePlan, tokens: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    segments = plan.arrays["segment_starts"].cpu()
    is_own = segments[tokens][:, None] == segments[keys][None]
    in_query = (keys < int(plan.host.query_starts[-1]))[None]
    return (keys[None] <= tokens[:, None]) & (is_own | in_query)
