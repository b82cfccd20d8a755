"""The baseline: one prompt a pair, nothing shared; N * Lq + sum(Li) tokens (paper, section 4.2)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mis_scoring.core.cost import independent_tokens
from mis_scoring.core.labels import TokenIds
from mis_scoring.engines.torch_engine import TorchEngine

if TYPE_CHECKING:
    import torch


class SingleItemEngine(TorchEngine):
    """Scores each pair as a prompt of its own, so its shape depends on the pair only."""

    name = "single"
    batch_invariant = True

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        """Return N * Lq + sum(Li)."""
        return independent_tokens(query_tokens, item_tokens)

    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        import torch

        prompts = ([*query, *item] for item in items)
        return torch.stack([self._run(prompt, range(len(prompt)))[-1] for prompt in prompts])
