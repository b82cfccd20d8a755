"""Attention from FlashInfer's own kernels, for NVIDIA GPUs that the Hopper kernel is not for.

Three passes: queries causally; items to their query; items to themselves; the last two merged by the logs of their
sums. How FlashInfer splits a pass depends on everything in it, so a pair's bits depend on its company. It plans on the
host and copies by itself, so the host waits for the forward before.
"""

from dataclasses import dataclass, field
from typing import Any

import torch

from mis_scoring.core.errors import MissingRequirementError
from mis_scoring.engines.prefill.attention.interface import DevicePlan, Heads, Tables
from mis_scoring.engines.prefill.kernels.plain import PlainKernels
from mis_scoring.engines.prefill.kernels.plain import write_rows as write
from mis_scoring.engines.prefill.plan import ForwardPlan
from mis_scoring.engines.prefill.rows import Alarm, Rows

HEAD_DIMS = (64, 128, 256)
_WORKSPACE_BYTES = 256 << 20  # as FlashInfer recommends
_PASSES = ("queries", "on_query", "on_self", "read_on_query", "read_on_self")


@dataclass(frozen=True, kw_only=True)
class PortableAttention:
    """See `Attention`.

    Attributes:
        n_heads, n_kv_heads: of the model.
        quiet: an alarm that nobody reads: queries are checked by what comes of them.
    """

    kernels: PlainKernels
    n_heads: int
    n_kv_heads: int
    dtype: torch.dtype
    quiet: Alarm
    _wrappers: dict[str, Any] = field(default_factory=dict, repr=False)
    _planned: list[ForwardPlan] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """See `Attention`."""
        return "portable"

    @property
    def is_batch_invariant(self) -> bool:
        """See `Attention`."""
        return False

    def tables(self, plan: ForwardPlan) -> Tables:
        """See `Attention`; FlashInfer makes its own."""
        return {}

    def attend(self, heads: Heads, plan: DevicePlan) -> None:
        """See `Attention`."""
        self._plan(plan.host)
        positions = plan.arrays["positions"]
        if heads.is_readout:
            positions = positions[plan.arrays["readout_tokens"]]
        self.kernels.rotate(heads.queries, heads.query_norm, positions, self.quiet)
        q, k, v = (self._split(part) for part in (heads.queries, heads.keys, heads.values))
        n_query, n_tokens, n_items = int(plan.host.query_starts[-1]), plan.host.n_tokens, plan.host.n_items
        if heads.is_readout:
            found = self._merged("read_on_query", "read_on_self", q[:n_items], k, v, n_query, n_tokens)
            self._write(found, heads.out, 0)
            return
        self._write(self._wrappers["queries"].run(q[:n_query], k[:n_query], v[:n_query]), heads.out, 0)
        found = self._merged("on_query", "on_self", q[n_query:n_tokens], k, v, n_query, n_tokens)
        self._write(found, heads.out, n_query)

    def _merged(
        self, on_query: str, on_self: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, n_query: int, n: int
    ) -> torch.Tensor:
        from flashinfer import merge_state

        shared = self._wrappers[on_query].run(q, k[:n_query], v[:n_query], return_lse=True)
        own = self._wrappers[on_self].run(q, k[n_query:n], v[n_query:n], return_lse=True)
        merged: torch.Tensor = merge_state(*shared, *own)[0]
        return merged

    def _plan(self, plan: ForwardPlan) -> None:
        """Plan all passes, at a forward's first layer."""
        if self._planned and self._planned[0] is plan:
            return
        if not self._wrappers:
            self._wrappers.update({name: _wrapper() for name in _PASSES})
        torch.cuda.current_stream().synchronize()  # the forward before may still read what is planned over
        queries = torch.from_numpy(plan.query_starts)
        first = int(plan.item_starts[0])
        items = torch.from_numpy(plan.item_starts - first)
        item_tokens_of_parts = torch.from_numpy(plan.item_starts[plan.part_items] - first)
        parts, single = torch.from_numpy(plan.part_items), torch.arange(plan.n_items + 1, dtype=torch.int32)
        spans = {
            "queries": (queries, queries, True),
            "on_query": (item_tokens_of_parts, queries, False),
            "on_self": (items, items, True),
            "read_on_query": (parts, queries, False),
            "read_on_self": (single, items, False),
        }
        for name, (rows, keys, is_causal) in spans.items():
            sizes = (self.n_heads, self.n_kv_heads, self.kernels.head_dim)
            self._wrappers[name].plan(rows, keys, *sizes, causal=is_causal, q_data_type=self.dtype)
        self._planned[:] = [plan]

    def _split(self, part: torch.Tensor) -> torch.Tensor:
        return part.unflatten(1, (-1, self.kernels.head_dim))

    def _write(self, found: torch.Tensor, out: Rows, first: int) -> None:
        target = out.values[first : first + len(found)]
        if out.fixed_scale is None:
            target.copy_(found.flatten(1))
        else:
            write(found.flatten(1).float(), Rows(values=target, fixed_scale=out.fixed_scale))


def require_flashinfer() -> None:
    """Raise where FlashInfer is not installed.

    Raises:
        MissingRequirementError: says how to get it.
    """
    try:
        import flashinfer  # noqa: F401
    except ImportError as error:
        raise MissingRequirementError(
            "engine 'prefill' attends with FlashInfer on this GPU: install flashinfer-python (infra/gpu/sglang.in)"
        ) from error


def _wrapper() -> Any:
    import flashinfer

    workspace = torch.empty(_WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
    return flashinfer.BatchPrefillWithRaggedKVCacheWrapper(workspace, "NHD", backend="fa2")
