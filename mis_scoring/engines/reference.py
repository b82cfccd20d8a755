"""The reference of the tie rule: the query prefilled alone, then the items alone on it.

Its shapes depend on the pair only, so a pair has the same bits whatever it arrives with; a query is computed once for
all of its items in a call. On a CPU an item is a pass of its own: Lq + sum(Li) tokens in 1 + N passes. A GPU would
idle at that: there items of like lengths go in blocks, and the shape of a block is the same however many it holds.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mis_scoring.core.labels import TokenIds
from mis_scoring.engines.torch_engine import TorchEngine

if TYPE_CHECKING:
    import torch

GPU_BLOCK = 16  # items of a pass on a GPU, and what their lengths are rounded up to


class ReferenceEngine(TorchEngine):
    """Decides pairs within `tie_eps` of the threshold.

    Args:
        block: items of a pass; 1: each alone, at its own length. More: blocks of just so many, at lengths that are
            multiples of it; what is not there is padding, which no token sees.
    """

    name = "reference"
    attention = "semlabel_after_query"
    batch_invariant = True

    def __init__(
        self,
        checkpoint_dir: Path,
        *,
        threads: int | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        block: int | None = None,
    ) -> None:
        from transformers import AttentionInterface

        from mis_scoring.engines.reference_attention import NAME, attend_after_query

        AttentionInterface.register(NAME, attend_after_query)
        super().__init__(checkpoint_dir, threads=threads, device=device, dtype=dtype)
        self._block = block or (1 if device == "cpu" else GPU_BLOCK)

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        """Return Lq and the tokens of all blocks, padding included."""
        tokens = sum(self._block * length for _, length in _blocks(item_tokens, self._block))
        return query_tokens + tokens if item_tokens else 0

    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        import torch

        query_keys: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._run(list(query), range(len(query)), query_keys=query_keys)
        hidden: dict[int, torch.Tensor] = {}
        for rows, length in _blocks([len(item) for item in items], self._block):
            found = self._block_hidden(len(query), [items[row] for row in rows], length, query_keys)
            hidden |= dict(zip(rows, found, strict=True))
        return torch.stack([hidden[row] for row in range(len(items))])

    def _block_hidden(
        self, n_query: int, items: Sequence[TokenIds], length: int, query_keys: Mapping[int, object]
    ) -> "list[torch.Tensor]":
        padded = [[*item, *[0] * (length - len(item))] for item in items]
        padded += [[0] * length] * (self._block - len(items))
        hidden = self._run_batch(padded, range(n_query, n_query + length), query_keys=query_keys)
        return [hidden[place, len(item) - 1] for place, item in enumerate(items)]


def _blocks(lengths: Sequence[int], block: int) -> Iterator[tuple[list[int], int]]:
    """Yield the items of each pass, and the length that they are padded to."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for row, length in enumerate(lengths):
        by_length[-(-length // block) * block].append(row)
    for length, rows in by_length.items():
        for start in range(0, len(rows), block):
            yield rows[start : start + block], length
