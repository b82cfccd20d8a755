"""The packed sequence of equations 3 and 4; a broken mask and positions that run on are caught."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError
from mis_scoring.core.packing import PackedRequest, mis_mask, pack

token_ids = st.lists(st.integers(0, 10_239), min_size=1, max_size=6)
item_lists = st.lists(token_ids, min_size=1, max_size=6)


def _context_of(packed: PackedRequest, mask: npt.NDArray[np.bool_], item: int) -> list[tuple[int, int]]:
    """What an item's readout row sees: (position, token id), sorted by position."""
    seen = np.flatnonzero(mask[packed.readout_rows[item]])
    return sorted(zip(packed.position_ids[seen].tolist(), packed.token_ids[seen].tolist(), strict=True))


def _single_context(query: list[int], item: list[int]) -> list[tuple[int, int]]:
    return list(enumerate([*query, *item]))


def _brute_force_mask(query: list[int], items: list[list[int]]) -> list[list[bool]]:
    owner = [0] * len(query) + [i + 1 for i, item in enumerate(items) for _ in item]
    rows = range(len(owner))
    return [[k <= j and (owner[k] == 0 or owner[k] == owner[j]) for k in rows] for j in rows]


@given(query=token_ids, items=item_lists)
def test_the_mask_is_equation_4_read_cell_by_cell(query: list[int], items: list[list[int]]) -> None:
    assert mis_mask(pack(query, items)).tolist() == _brute_force_mask(query, items)


@given(query=token_ids, items=item_lists)
def test_each_readout_row_sees_exactly_its_single_prompt(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    mask = mis_mask(packed)
    for row, item in enumerate(items):
        assert _context_of(packed, mask, row) == _single_context(query, item)


@given(query=token_ids, items=item_lists)
def test_every_token_of_an_item_sees_what_it_would_see_alone(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    mask = mis_mask(packed)
    for number in range(1, len(items) + 1):
        own = np.flatnonzero((packed.segment_ids == 0) | (packed.segment_ids == number))
        assert np.array_equal(mask[np.ix_(own, own)], np.tri(len(own), dtype=bool))
        foreign = np.setdiff1d(np.arange(len(packed.token_ids)), own)
        assert not mask[np.ix_(np.flatnonzero(packed.segment_ids == number), foreign)].any()


@given(query=token_ids, items=item_lists)
def test_the_query_never_sees_an_item(query: list[int], items: list[list[int]]) -> None:
    assert not mis_mask(pack(query, items))[: len(query), len(query) :].any()


@given(query=token_ids, items=st.lists(token_ids, min_size=2, max_size=6))
def test_a_plain_causal_mask_is_caught(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    causal = np.tri(len(packed.token_ids), dtype=bool)
    assert not np.array_equal(causal, mis_mask(packed))
    assert _context_of(packed, causal, len(items) - 1) != _single_context(query, items[-1])


@given(query=token_ids, items=st.lists(token_ids, min_size=2, max_size=6))
def test_positions_that_run_on_are_caught(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    running = PackedRequest(
        token_ids=packed.token_ids,
        position_ids=np.arange(len(packed.token_ids)),
        segment_ids=packed.segment_ids,
        readout_rows=packed.readout_rows,
    )
    assert _context_of(running, mis_mask(packed), len(items) - 1) != _single_context(query, items[-1])


@given(query=token_ids, items=item_lists, seed=st.integers(0, 2**16))
def test_the_order_of_items_does_not_change_what_an_item_sees(
    query: list[int], items: list[list[int]], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(items))
    straight, moved = pack(query, items), pack(query, [items[i] for i in order])
    for row, original in enumerate(order):
        assert _context_of(moved, mis_mask(moved), row) == _context_of(straight, mis_mask(straight), int(original))


@given(query=token_ids, items=st.lists(token_ids, min_size=2, max_size=6), data=st.data())
def test_a_round_split_in_two_sees_what_the_whole_round_sees(
    query: list[int], items: list[list[int]], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, len(items) - 1))
    whole, parts = pack(query, items), [pack(query, items[:cut]), pack(query, items[cut:])]
    joined = [_context_of(part, mis_mask(part), row) for part in parts for row in range(len(part.readout_rows))]
    assert joined == [_context_of(whole, mis_mask(whole), row) for row in range(len(items))]


@given(query=token_ids, items=item_lists)
def test_the_packed_sequence_is_query_then_items(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    assert packed.token_ids.tolist() == query + [token for item in items for token in item]
    assert [packed.token_ids[row] for row in packed.readout_rows] == [item[-1] for item in items]
    assert packed.position_ids.max() == len(query) + max(map(len, items)) - 1  # section 4.4


def test_a_request_without_items_packs_to_the_query() -> None:
    packed = pack([5, 6], [])
    assert packed.token_ids.tolist() == [5, 6]
    assert packed.readout_rows.tolist() == []


def test_every_empty_part_is_named_at_once() -> None:
    with pytest.raises(DataError, match="the query, item 0, item 2 has no token"):
        pack([], [[], [1], []])
