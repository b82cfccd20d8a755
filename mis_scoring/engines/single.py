"""The baseline: one prompt a pair, nothing shared; N * Lq + sum(Li) tokens (paper, section 4.2)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mis_scoring.core.labels import TokenIds
from mis_scoring.engines.cpu_engine import CpuEngine

if TYPE_CHECKING:
    import torch


class SingleItemEngine(CpuEngine):
    """Scores each pair as a prompt of its own, so its shape depends on the pair only."""

    name = "single"
    batch_invariant = True

    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        import torch

        prompts = ([*query, *item] for item in items)
        return torch.stack([self._run(prompt, range(len(prompt)))[-1] for prompt in prompts])
