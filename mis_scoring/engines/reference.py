"""The reference of the tie rule: the query prefilled alone, then the item alone on it.

Its shapes depend on the pair only, so a pair has the same bits whatever it arrives with; a query is computed once for
all of its items in a call: Lq + sum(Li) tokens, in 1 + N passes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mis_scoring.core.labels import TokenIds
from mis_scoring.engines.cpu_engine import CpuEngine

if TYPE_CHECKING:
    import torch


class ReferenceEngine(CpuEngine):
    """Decides pairs within `tie_eps` of the threshold."""

    name = "reference"
    attention = "semlabel_after_query"
    batch_invariant = True

    def __init__(self, checkpoint_dir: Path, *, threads: int | None = None) -> None:
        from transformers import AttentionInterface

        from mis_scoring.engines.reference_attention import NAME, attend_after_query

        AttentionInterface.register(NAME, attend_after_query)
        super().__init__(checkpoint_dir, threads=threads)

    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        import torch

        query_keys: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._run(list(query), range(len(query)), query_keys=query_keys)
        return torch.stack([self._item_hidden(len(query), item, query_keys) for item in items])

    def _item_hidden(self, n_query: int, item: TokenIds, query_keys: object) -> "torch.Tensor":
        return self._run(list(item), range(n_query, n_query + len(item)), query_keys=query_keys)[-1]
