"""The oracle: the same packed pass with the mask of equation 4 written out.

Slow and plain. The mask grows with the square of the packed length, so items are taken in chunks and the query is
computed once a chunk.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mis_scoring.core.cost import packed_generation_tokens
from mis_scoring.core.labels import TokenIds
from mis_scoring.core.packing import PackedRequest, mis_mask, pack
from mis_scoring.engines.torch_engine import TorchEngine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

ITEMS_PER_PASS = 64


class DenseEngine(TorchEngine):
    """Multiple-Item Scoring by a dense mask.

    Args:
        items_per_pass: items in one packed sequence.
    """

    name = "dense"

    def __init__(
        self,
        checkpoint_dir: Path,
        *,
        threads: int | None = None,
        device: str = "cpu",
        items_per_pass: int = ITEMS_PER_PASS,
    ) -> None:
        super().__init__(checkpoint_dir, threads=threads, device=device)
        self._items_per_pass = items_per_pass

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        """Return the tokens with the query once a chunk."""
        return packed_generation_tokens(query_tokens, item_tokens, items_per_prompt=self._items_per_pass)

    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        import torch

        starts = range(0, len(items), self._items_per_pass)
        return torch.cat([self._packed_hidden(query, items[s : s + self._items_per_pass]) for s in starts])

    def _packed_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        import torch

        packed = self._pack(query, items)
        mask = torch.from_numpy(self._mask(packed)).to(self._device)[None, None]
        hidden = self._run(packed.token_ids, packed.position_ids, attention_mask=mask)
        return hidden[packed.readout_rows.tolist()]

    def _pack(self, query: TokenIds, items: Sequence[TokenIds]) -> PackedRequest:
        return pack(query, items)

    def _mask(self, packed: PackedRequest) -> "npt.NDArray[np.bool_]":
        return mis_mask(packed)
