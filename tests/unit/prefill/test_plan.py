"""Where tokens stand: every pair once and in order, positions that are reused, forwards that are full."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.bench.shapes import draw_query_lengths
from mis_scoring.core.errors import DataError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.packing import pack
from mis_scoring.engines.prefill.plan import Limits, Part, choose_parts, padded_rows, parts_of, plan_forward
from tests.unit.prefill.conftest import LIMITS, part_of

LABELS = LabelTokens(yes=3, no=4)
item_lengths = st.lists(st.integers(1, 70), min_size=1, max_size=30)
requests = st.lists(st.tuples(st.integers(1, 90), item_lengths), min_size=1, max_size=6)


@given(requests)
def test_a_forward_has_every_request_as_it_would_be_packed_alone(drawn: list[tuple[int, list[int]]]) -> None:
    parts = [part_of(query, items, seed=seed) for seed, (query, items) in enumerate(drawn)]
    plan = plan_forward(parts)
    assert plan.n_tokens == sum(part.n_tokens for part in parts)
    for number, part in enumerate(parts):
        starts = part.query_tokens + np.cumsum([0, *part.item_tokens])
        items = [part.token_ids[a:b].tolist() for a, b in pairwise(starts)]
        packed = pack(part.token_ids[: part.query_tokens].tolist(), items)
        first, last = plan.part_items[number : number + 2]
        tokens = np.r_[
            slice(*plan.query_starts[number : number + 2]), slice(plan.item_starts[first], plan.item_starts[last])
        ]
        assert plan.token_ids[tokens].tolist() == packed.token_ids.tolist()
        assert plan.positions[tokens].tolist() == packed.position_ids.tolist()
        assert len(np.unique(plan.segment_starts[tokens])) == len(items) + 1
        assert (tokens[packed.readout_rows] == plan.readout_tokens[first:last]).all()
        assert {plan.part_of_token(int(token)) for token in tokens} == {number}
        assert (plan.item_parts[first:last] == number).all()


@given(
    query=st.integers(1, 60),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    max_tokens=st.integers(100, 400),
    max_items=st.integers(1, 30),
)
def test_a_long_request_is_split_into_parts_with_every_pair_once_and_in_order(
    query: int, lengths: list[int], max_tokens: int, max_items: int
) -> None:
    limits = Limits(max_tokens=max_tokens, max_items=max_items, max_parts=4, max_item_tokens=40)
    items = [[place % 250] * length for place, length in enumerate(lengths)]
    parts = parts_of([251] * query, items, LABELS, limits)
    found = []
    for part in parts:
        assert part.n_tokens <= max_tokens and part.n_items <= max_items and part.label_ids == (3, 4)
        assert part.token_ids[: part.query_tokens].tolist() == [251] * query
        found += np.split(part.token_ids[query:], np.cumsum(part.item_tokens)[:-1])
    assert [item.tolist() for item in found] == items


@pytest.mark.parametrize("n_items", [1, 2_000])
def test_as_many_items_as_anyone_asks(n_items: int) -> None:
    parts = parts_of([1] * 744, [[2] * 24] * n_items, LABELS, LIMITS)
    assert sum(part.n_items for part in parts) == n_items
    assert len(parts) == (1 if n_items == 1 else 3)


def test_long_shapes_fit_or_are_split_and_an_item_that_cannot_fit_is_refused() -> None:
    assert len(parts_of([1] * 12_000, [[2] * 150] * 50, LABELS, LIMITS)) == 1
    assert [part.n_items for part in parts_of([1] * 744, [[2] * 8_000] * 5, LABELS, LIMITS)] == [2, 2, 1]
    with pytest.raises(DataError, match="item 1 makes a request of 24744 tokens"):
        parts_of([1] * 744, [[2], [2] * 24_000], LABELS, LIMITS)


def test_an_empty_item_has_no_place() -> None:
    with pytest.raises(DataError, match="no token"):
        plan_forward([part_of(5, [3, 0, 2])])


def test_forwards_of_the_papers_queries_are_full_and_little_of_them_is_padding() -> None:
    """Log-normal queries, 200 items of 24 tokens; 16 requests wait at a time."""
    waiting = [part_of(query, [24] * 200) for query in draw_query_lengths(200, seed=3)]
    pending, filled, rows = waiting[:16], [], 0
    left = waiting[16:]
    while pending:
        places = choose_parts(pending, LIMITS, token_budget=24_576)
        assert places[0] == 0, "the oldest is never passed over"
        tokens = sum(pending[place].n_tokens for place in places)
        filled.append(tokens)
        rows += padded_rows(tokens)
        pending = [part for place, part in enumerate(pending) if place not in places]
        pending, left = pending + left[: len(places)], left[len(places) :]
    assert sum(filled) == sum(part.n_tokens for part in waiting)
    assert rows / sum(filled) - 1 < 0.02
    assert np.median(filled) > 0.85 * 24_576 and max(filled) <= 24_576


@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=40), st.integers(1, 5_000))
def test_a_forward_never_goes_over_its_budget_but_for_one_that_is_longer(lengths: list[int], budget: int) -> None:
    one = {"query_tokens": 1, "item_tokens": np.ones(1, np.int32), "label_ids": (1, 2)}
    waiting = [Part(token_ids=np.zeros(n, np.int32), **one) for n in lengths]
    chosen = choose_parts(waiting, LIMITS, token_budget=budget)
    assert chosen[0] == 0 and chosen == sorted(set(chosen))
    assert len(chosen) == 1 or sum(lengths[place] for place in chosen) <= budget


def test_rows_have_a_floor_and_a_step() -> None:
    assert [padded_rows(n) for n in (1, 1_024, 1_025, 1_040, 1_041)] == [1_024, 1_024, 1_040, 1_040, 1_056]
