"""Attention tiles: every visible key once, nothing else, halves of a block where the bits need them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mis_scoring.engines.prefill.plan import ForwardPlan, Limits, plan_forward
from mis_scoring.engines.prefill.tiles import (
    HALF_BLOCK,
    KEY_BLOCK,
    NOBODY,
    TileTable,
    readout_tiles,
    table_words,
    token_tiles,
)
from tests.unit.prefill.conftest import part_of

GROUPS = (1, 2, 3, 6, 8)
requests = st.lists(
    st.tuples(st.integers(1, 300), st.lists(st.integers(1, 140), min_size=1, max_size=12)), min_size=1, max_size=3
)


def seen_by_row(table: TileTable, plan: ForwardPlan, group: int, tokens: np.ndarray) -> list[list[int]]:
    """The keys that each token (first head of its group) gets to see, as the kernel reads the table."""
    seen: list[list[int]] = [[] for _ in range(len(tokens))]
    n_rows = np.zeros(len(tokens), int)
    for first_row, count, prefix, n_prefix, own, n_own in table.tiles.tolist():
        for row in range(first_row, first_row + count):
            place, token = row // group, int(tokens[row // group])
            n_rows[place] += 1
            if row % group:
                continue
            for first, item, second, second_item in table.own_blocks[own : own + n_own].tolist():
                for start, owner in ((first, item), (second, second_item)):
                    is_mine = owner == plan.segment_starts[token]
                    seen[place] += [key for key in range(start, start + HALF_BLOCK) if is_mine and key <= token]
            seen[place] += range(prefix, prefix + n_prefix)
    assert (n_rows == group).all(), "every row of every token is in one tile"
    return seen


@settings(max_examples=15)
@given(requests, st.sampled_from(GROUPS))
def test_a_token_sees_its_query_and_its_own_item_up_to_itself_once(
    drawn: list[tuple[int, list[int]]], group: int
) -> None:
    plan = plan_forward([part_of(query, items) for query, items in drawn])
    all_tokens = np.arange(plan.n_tokens)
    for table, tokens in ((token_tiles(plan, group), all_tokens), (readout_tiles(plan, group), plan.readout_tokens)):
        for token, keys in zip(tokens.tolist(), seen_by_row(table, plan, group, tokens), strict=True):
            own = plan.segment_starts[token]
            part = plan.part_of_token(token)
            query = range(*plan.query_starts[part : part + 2])
            expected = list(range(own, token + 1)) + ([] if token < plan.query_starts[-1] else list(query))
            assert sorted(keys) == sorted(expected)


@settings(max_examples=15)
@given(requests, st.sampled_from(GROUPS))
def test_an_items_key_has_the_same_column_modulo_32_wherever_the_item_lies(
    drawn: list[tuple[int, list[int]]], group: int
) -> None:
    plan = plan_forward([part_of(query, items) for query, items in drawn])
    n_query = plan.query_starts[-1]
    for table in (token_tiles(plan, group), readout_tiles(plan, group)):
        for first, item, second, second_item in table.own_blocks.tolist():
            for start, owner in ((first, item), (second, second_item)):
                assert owner < n_query or (start - owner) % HALF_BLOCK == 0
            assert second_item != item or second == first + HALF_BLOCK, "more than half a block is of one item"
            assert item != NOBODY


def test_short_items_share_blocks_and_long_ones_do_not() -> None:
    plan = plan_forward([part_of(64, [24, 24, 24, 40, 64, 65])])
    table = token_tiles(plan, 1)
    starts = plan.item_starts
    tile = next(tile for tile in table.tiles.tolist() if tile[0] == 64)
    own = table.own_blocks[tile[4] : tile[4] + tile[5]].tolist()
    assert [starts[3], starts[3], starts[3] + 32, starts[3]] in own
    assert [starts[0], starts[0], starts[1], starts[1]] in own
    assert tile[2:4] == [0, 64] and tile[1] == 128


def test_tiles_come_longest_first() -> None:
    plan = plan_forward([part_of(900, [30] * 40), part_of(20, [5])])
    cost = [tile[3] + KEY_BLOCK * tile[5] for tile in token_tiles(plan, 6).tiles.tolist()]
    assert cost == sorted(cost, reverse=True)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    "drawn", [[(3_000, [1] * 1_000)], [(1, [2_000, 2_000])], [(1, [63] * 60), (7, [33] * 8)], [(15, [1])] * 8]
)
def test_no_plan_is_longer_than_the_room_that_is_taken_for_it(drawn: list[tuple[int, list[int]]], group: int) -> None:
    limits = Limits(max_tokens=4_064, max_items=1_000, max_parts=8, max_item_tokens=2_000)
    plan = plan_forward([part_of(query, items) for query, items in drawn])
    tables = (token_tiles(plan, group), readout_tiles(plan, group))
    assert sum(table.tiles.size + table.own_blocks.size for table in tables) <= table_words(limits, group)
