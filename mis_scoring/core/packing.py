"""Pack one query and its items into one sequence: positions, mask, readout rows (paper, section 4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.core.errors import DataError
from mis_scoring.core.labels import TokenIds

IntArray = npt.NDArray[np.int64]
QUERY_SEGMENT = 0


@dataclass(frozen=True, kw_only=True)
class PackedRequest:
    """The physical sequence [q; c1; ...; cN] (equation 3), T tokens.

    Attributes:
        token_ids: (T,).
        position_ids: (T,), 0..Lq-1 for the query, Lq+d for the d-th token of every item.
        segment_ids: (T,), 0 for the query, i+1 for item i.
        readout_rows: (N,), where each item's last token stands.
    """

    token_ids: IntArray
    position_ids: IntArray
    segment_ids: IntArray
    readout_rows: IntArray


def pack(query: TokenIds, items: Sequence[TokenIds]) -> PackedRequest:
    """Pack a query and its items, in order.

    Raises:
        DataError: the query or an item is empty; all of them are named.
    """
    empty = [f"item {i}" for i, item in enumerate(items) if len(item) == 0]
    if len(query) == 0 or empty:
        named = (["the query"] if len(query) == 0 else []) + empty
        raise DataError(f"nothing to score: {', '.join(named)} has no token")
    lengths = [len(query), *(len(item) for item in items)]
    starts = [0] + [len(query)] * len(items)
    return PackedRequest(
        token_ids=np.concatenate([np.asarray(part, np.int64) for part in (query, *items)]),
        position_ids=np.concatenate([np.arange(s, s + n) for s, n in zip(starts, lengths, strict=True)]),
        segment_ids=np.repeat(np.arange(len(lengths)), lengths),
        readout_rows=np.cumsum(lengths)[1:] - 1,
    )


def without_query(packed: PackedRequest) -> PackedRequest:
    """Return the items alone, at their places after a query that was computed before."""
    n = int((packed.segment_ids == QUERY_SEGMENT).sum())
    return PackedRequest(
        token_ids=packed.token_ids[n:],
        position_ids=packed.position_ids[n:],
        segment_ids=packed.segment_ids[n:],
        readout_rows=packed.readout_rows - n,
    )


def mis_mask(packed: PackedRequest) -> npt.NDArray[np.bool_]:
    """Return which token j (row) may see which token k (column): k <= j, and k in the query or in j's own item.

    Returns:
        (T, T) bool; grows with the square of the packed length.
    Source: arXiv 2610.36383, equation 4.
    """
    rows = np.arange(len(packed.token_ids))
    causal = rows[None, :] <= rows[:, None]
    in_query = packed.segment_ids[None, :] == QUERY_SEGMENT
    same_segment = packed.segment_ids[None, :] == packed.segment_ids[:, None]
    return np.asarray(causal & (in_query | same_segment), np.bool_)
