"""Table 2 and the paper's own figures, against the token counts of the cost model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.cost import (
    independent_tokens,
    mis_tokens,
    packed_generation_tokens,
    reduction_factor,
    table_2,
)

QUERY = st.integers(1, 60)
ITEMS = st.lists(st.integers(1, 20), min_size=1, max_size=20)


@given(query=QUERY, items=ITEMS, per_prompt=st.integers(1, 25))
def test_table_2_is_what_the_requests_hold_without_their_items(query: int, items: list[int], per_prompt: int) -> None:
    methods = table_2(query, len(items), items_per_prompt=per_prompt)
    generated = packed_generation_tokens(query, items, items_per_prompt=per_prompt)
    assert methods["mis"].most_query_tokens == mis_tokens(query, items) - sum(items)
    assert methods["independent"].most_query_tokens == independent_tokens(query, items) - sum(items)
    assert methods["packed_generation"].most_query_tokens == generated - sum(items)
    assert [name for name, work in methods.items() if work.is_decoding] == ["packed_generation"]


@given(query=QUERY, n_items=st.integers(1, 20))
def test_a_prefix_cache_lies_between_mis_and_independent_requests(query: int, n_items: int) -> None:
    methods = table_2(query, n_items, items_per_prompt=20)
    cached, alone, mis = methods["prefix_cache"], methods["independent"], methods["mis"]
    assert (cached.least_query_tokens, cached.most_query_tokens) == (mis.most_query_tokens, alone.most_query_tokens)
    assert (mis.n_requests, cached.n_requests) == (1, alone.n_requests)


@given(query=QUERY, items=st.lists(st.integers(1, 20), min_size=2, max_size=20), data=st.data())
def test_splitting_a_round_costs_its_query_once_more(query: int, items: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(items) - 1))
    assert mis_tokens(query, items[:cut]) + mis_tokens(query, items[cut:]) == mis_tokens(query, items) + query


def test_the_figures_of_the_paper_come_out() -> None:
    """Sections 4.3 and 6.1: mean query 744, mean item 28, N = 200, g = 20."""
    items = [28] * 200
    assert mis_tokens(744, items) == 6_344  # "about 6,400", 32 a label
    assert independent_tokens(744, items) == 154_400  # "154,000", 770 a label
    assert packed_generation_tokens(744, items, items_per_prompt=20) / 200 == pytest.approx(63, abs=3)
    assert reduction_factor(744, items) == pytest.approx(24, abs=0.5)


def test_nothing_to_score_takes_no_request() -> None:
    works = table_2(744, 0, items_per_prompt=20).values()
    assert {(work.n_requests, work.most_query_tokens) for work in works} == {(0, 0)}
