"""What an attention tile computes: 128 rows of one request, a range of its query's keys, and a list of own key blocks.

A row is a token and one of the heads that share a key, so that tiles are full whatever the grouping and need not
respect items. A tile's own keys (of the items in it, or of its stretch of the query) come as blocks of two halves: 32
keys each, from one item, starting at a multiple of 32 of its tokens. 33 to 64 keys take a block, up to 32 take half a
block and share it with another item of the tile. So a key has the same column modulo 32 wherever its item lies, which
is what makes sums over a block bit-exact in any company.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.engines.prefill.plan import ForwardPlan, Ints, Limits

TILE_ROWS = 128
KEY_BLOCK = 64
HALF_BLOCK = 32
NOBODY = -1
Indexes = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TileTable:
    """Tiles, longest first.

    Attributes:
        tiles: (n, 6): first row, rows, first key of the prefix, its keys, first own block, own blocks.
        own_blocks: (m, 4): first key and item of both halves; an item is named by its first token, -1 is nobody.
    """

    tiles: Ints
    own_blocks: Ints

    @property
    def n_key_blocks(self) -> int:
        """Key blocks that are loaded for each key head: what the launch costs."""
        return int((self.tiles[:, 5] + -(-self.tiles[:, 3] // KEY_BLOCK)).sum())


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """Tiles before their keys: the request of each, its first row, its rows, its first unit and the one after its last.

    A unit is a token, or for readout rows an item.
    """

    request: Indexes
    first_row: Indexes
    n_rows: Indexes
    first: Indexes
    end: Indexes


@dataclass(frozen=True, kw_only=True)
class _Own:
    """Stretches of own keys: the tile of each, ascending, its first key, its item and how many keys are visible."""

    tile: Indexes
    first_key: Indexes
    item: Indexes
    n_keys: Indexes


def token_tiles(plan: ForwardPlan, group: int) -> TileTable:
    """Return the tiles of all tokens: queries causally, items to their query and themselves.

    Args:
        group: heads that share a key.
    """
    queries, starts = plan.query_starts.astype(np.int64), plan.item_starts.astype(np.int64)
    cut = _cut(queries[:-1], queries[1:], group)
    begin = queries[cut.request]
    own = _Own(tile=np.arange(len(begin)), first_key=cut.first, item=begin, n_keys=cut.end - cut.first)
    query_heads = np.stack([cut.first_row, cut.n_rows, begin, cut.first - begin], axis=1)

    ends = starts[plan.part_items]
    cut = _cut(ends[:-1], ends[1:], group)
    first_item = np.searchsorted(starts, cut.first, "right") - 1
    end_item = np.searchsorted(starts, cut.end - 1, "right")
    item_own = _own_of_items(starts, first_item, end_item, visible_until=cut.end)
    return _table([(query_heads, own), (_item_heads(plan, cut), item_own)])


def readout_tiles(plan: ForwardPlan, group: int) -> TileTable:
    """Return the tiles of the items' last tokens alone; rows count items, keys are those of all tokens."""
    starts, part_items = plan.item_starts.astype(np.int64), plan.part_items.astype(np.int64)
    cut = _cut(part_items[:-1], part_items[1:], group)
    own = _own_of_items(starts, cut.first, cut.end, visible_until=np.full(len(cut.first), plan.n_tokens))
    return _table([(_item_heads(plan, cut), own)])


def _cut(starts: Indexes, ends: Indexes, group: int) -> _Cut:
    """Cut each request's units, `group` rows each, into tiles from its first row on."""
    request, number = enumerate_runs(-(-(ends - starts) * group // TILE_ROWS))
    first_row = starts[request] * group + TILE_ROWS * number
    n_rows = np.minimum(TILE_ROWS, ends[request] * group - first_row)
    end = (first_row + n_rows - 1) // group + 1
    return _Cut(request=request, first_row=first_row, n_rows=n_rows, first=first_row // group, end=end)


def _item_heads(plan: ForwardPlan, cut: _Cut) -> Indexes:
    lengths = np.diff(plan.query_starts)
    return np.stack([cut.first_row, cut.n_rows, plan.query_starts[cut.request], lengths[cut.request]], axis=1)


def _own_of_items(starts: Indexes, first_item: Indexes, end_item: Indexes, *, visible_until: Indexes) -> _Own:
    tile, number = enumerate_runs(end_item - first_item)
    item = first_item[tile] + number
    n_keys = np.minimum(starts[item + 1], visible_until[tile]) - starts[item]
    return _Own(tile=tile, first_key=starts[item], item=starts[item], n_keys=n_keys)


def _table(groups: list[tuple[Indexes, _Own]]) -> TileTable:
    heads = np.concatenate([head for head, _ in groups])
    shift = np.cumsum([0, *(len(head) for head, _ in groups)])
    own = _Own(
        tile=np.concatenate([own.tile + shift[n] for n, (_, own) in enumerate(groups)]),
        first_key=np.concatenate([own.first_key for _, own in groups]),
        item=np.concatenate([own.item for _, own in groups]),
        n_keys=np.concatenate([own.n_keys for _, own in groups]),
    )
    tile, blocks = own_blocks(own.tile, own.first_key, own.item, own.n_keys)
    n_own = np.bincount(tile, minlength=len(heads))
    tiles = np.concatenate([heads, np.stack([np.cumsum(n_own) - n_own, n_own], axis=1)], axis=1)
    longest_first = np.argsort(-(tiles[:, 3] + KEY_BLOCK * tiles[:, 5]), kind="stable")
    return TileTable(tiles=tiles[longest_first].astype(np.int32), own_blocks=blocks.astype(np.int32))


def own_blocks(tile: Indexes, first_key: Indexes, item: Indexes, n_keys: Indexes) -> tuple[Indexes, Indexes]:
    """Return the tile of each own block, ascending, and the blocks, (m, 4), as `TileTable` has them.

    Args:
        tile: of each stretch of keys, ascending.
        first_key: (n,); item: (n,); n_keys: (n,), at least 1.
    """
    rest = n_keys % KEY_BLOCK
    owner, number = enumerate_runs(n_keys // KEY_BLOCK + (rest > HALF_BLOCK))
    first = first_key[owner] + KEY_BLOCK * number
    whole = np.stack([first, item[owner], first + HALF_BLOCK, item[owner]], axis=1)

    short = np.flatnonzero((rest > 0) & (rest <= HALF_BLOCK))
    short_tile, short_item = tile[short], item[short]
    short_first = first_key[short] + n_keys[short] - rest[short]
    opens = np.flatnonzero((np.arange(len(short)) - np.searchsorted(short_tile, short_tile)) % 2 == 0)
    partner = np.minimum(opens + 1, len(short) - 1)
    is_shared = (partner > opens) & (short_tile[partner] == short_tile[opens])
    second = np.where(is_shared, short_first[partner], short_first[opens])
    second_item = np.where(is_shared, short_item[partner], NOBODY)
    halves = np.stack([short_first[opens], short_item[opens], second, second_item], axis=1)

    of_tile = np.concatenate([tile[owner], short_tile[opens]])
    order = np.argsort(of_tile, kind="stable")
    return of_tile[order], np.concatenate([whole, halves])[order]


def enumerate_runs(lengths: npt.NDArray[np.integer]) -> tuple[Indexes, Indexes]:
    """Return, for runs of these lengths one after the other, each place's run and its number inside it."""
    run = np.repeat(np.arange(len(lengths)), lengths)
    return run, np.arange(len(run)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def table_words(limits: Limits, group: int) -> int:
    """Return an upper bound of the words of both tables of any forward within the limits."""
    n_tiles = limits.max_tokens * group // TILE_ROWS + 2 * limits.max_parts
    n_readout_tiles = limits.max_items * group // TILE_ROWS + limits.max_parts
    inside = limits.max_tokens // KEY_BLOCK + limits.max_items  # blocks of items that lie in one tile each
    across = n_tiles * (limits.max_item_tokens // KEY_BLOCK + 3)  # those of one more stretch for every tile
    n_blocks = inside + across + 2 * (inside + n_readout_tiles)
    return 6 * (n_tiles + n_readout_tiles) + 4 * n_blocks
