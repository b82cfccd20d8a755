"""Packing against a loop that follows equations 3 and 4 to the letter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError
from mis_scoring.core.packing import mis_mask, pack

TOKENS = st.lists(st.integers(0, 99), min_size=1, max_size=6)
ITEMS = st.lists(TOKENS, max_size=6)


def flatten(query: list[int], items: list[list[int]]) -> list[tuple[int, int, int]]:
    """Return (token, position, segment) of every token, by hand."""
    rows = [(token, place, 0) for place, token in enumerate(query)]
    for number, item in enumerate(items, start=1):
        rows += [(token, len(query) + place, number) for place, token in enumerate(item)]
    return rows


@given(query=TOKENS, items=ITEMS)
def test_tokens_positions_and_segments_follow_equation_3(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    columns = (packed.token_ids, packed.position_ids, packed.segment_ids)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == flatten(query, items)


@given(query=TOKENS, items=ITEMS)
def test_a_token_sees_the_query_and_its_own_item_up_to_itself(query: list[int], items: list[list[int]]) -> None:
    rows = flatten(query, items)
    seen = [[k <= j and rows[k][2] in (0, rows[j][2]) for k in range(len(rows))] for j in range(len(rows))]
    assert mis_mask(pack(query, items)).tolist() == seen


@given(query=TOKENS, items=ITEMS)
def test_each_readout_row_is_the_last_token_of_its_item(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    assert packed.token_ids[packed.readout_rows].tolist() == [item[-1] for item in items]
    assert packed.segment_ids[packed.readout_rows].tolist() == list(range(1, len(items) + 1))


@given(query=TOKENS, items=st.lists(TOKENS, min_size=1, max_size=5), data=st.data())
def test_a_pair_is_masked_and_placed_as_if_alone(query: list[int], items: list[list[int]], data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(items) - 1))
    packed, alone = pack(query, items), pack(query, [items[row]])
    own = np.isin(packed.segment_ids, [0, row + 1])
    assert np.array_equal(packed.position_ids[own], alone.position_ids)
    assert np.array_equal(mis_mask(packed)[np.ix_(own, own)], mis_mask(alone))
    item_tokens = packed.segment_ids == row + 1
    assert not mis_mask(packed)[np.ix_(item_tokens, ~own)].any()


def test_everything_that_is_empty_is_named() -> None:
    with pytest.raises(DataError, match="the query, item 1, item 3"):
        pack([], [[1], [], [2], []])
