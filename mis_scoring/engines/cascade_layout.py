"""Where the items of a packed request stand, for attention that takes the query part and the self part apart."""

from dataclasses import dataclass

import numpy as np

from mis_scoring.core.engine import QueryKeys
from mis_scoring.core.packing import QUERY_SEGMENT, IntArray, PackedRequest


@dataclass(frozen=True, kw_only=True)
class ItemGroup:
    """Items of similar length, padded to the longest; padding repeats an item's own last token and comes last.

    Under a causal mask no real token sees what comes after it, so padding cannot reach a result.

    Attributes:
        places: (n, longest), the packed place of each token, or of the item's last token where padding stands.
        rows: (tokens,), which of the n * longest places are real tokens, in packed order.
        targets: (tokens,), the packed place of each of those.
    """

    places: IntArray
    rows: IntArray
    targets: IntArray


@dataclass(frozen=True, kw_only=True)
class CascadeLayout:
    """The query's tokens come first; the items follow in groups, each padded to less than twice its lengths.

    A query that was computed before has no token here.
    """

    query_tokens: int
    groups: tuple[ItemGroup, ...]


@dataclass(frozen=True, kw_only=True)
class CascadePart:
    """One request of a pass.

    Attributes:
        rows: where it stands in the pass; its layout counts from there.
        query_keys: read where the query does not stand in the pass, else filled.
    """

    rows: slice
    layout: CascadeLayout
    query_keys: QueryKeys | None


def cascade_layout(packed: PackedRequest) -> CascadeLayout:
    """Return the layout of a packed request; padding is less than one extra token a real one."""
    query_tokens = int((packed.segment_ids == QUERY_SEGMENT).sum())
    ends = packed.readout_rows + 1
    starts = np.concatenate([[query_tokens], ends])[:-1]
    sizes = np.asarray([int(length).bit_length() for length in ends - starts])
    groups = [_group(starts[sizes == size], ends[sizes == size]) for size in np.unique(sizes)]
    return CascadeLayout(query_tokens=query_tokens, groups=tuple(groups))


def _group(starts: IntArray, ends: IntArray) -> ItemGroup:
    places = starts[:, None] + np.arange((ends - starts).max())
    is_token = places < ends[:, None]
    places = np.where(is_token, places, ends[:, None] - 1)
    return ItemGroup(places=places, rows=np.flatnonzero(is_token), targets=places[is_token])
