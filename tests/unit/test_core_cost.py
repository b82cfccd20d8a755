"""The cost model against requests that are written out and counted (equation 5, Table 2)."""

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
from mis_scoring.core.errors import DataError
from mis_scoring.core.packing import pack

queries = st.integers(1, 60)
item_lengths = st.lists(st.integers(1, 20), min_size=1, max_size=20)


def _tokens_sent(requests: list[list[int]]) -> int:
    return sum(len(request) for request in requests)


@given(query=queries, items=item_lengths)
def test_mis_costs_what_its_packed_request_holds(query: int, items: list[int]) -> None:
    assert mis_tokens(query, items) == len(pack([1] * query, [[2] * n for n in items]).token_ids)


@given(query=queries, items=item_lengths)
def test_independent_scoring_costs_one_prompt_an_item(query: int, items: list[int]) -> None:
    assert independent_tokens(query, items) == _tokens_sent([[1] * query + [2] * n for n in items])


@given(query=queries, items=item_lengths, per_prompt=st.integers(1, 25))
def test_packed_generation_costs_the_query_once_a_prompt(query: int, items: list[int], per_prompt: int) -> None:
    prompts = [items[start : start + per_prompt] for start in range(0, len(items), per_prompt)]
    sent = _tokens_sent([[1] * query + [2] * sum(prompt) for prompt in prompts])
    assert packed_generation_tokens(query, items, items_per_prompt=per_prompt) == sent


@given(query=queries, items=item_lengths)
def test_the_reduction_is_equation_5(query: int, items: list[int]) -> None:
    n, rho = len(items), query / (sum(items) / len(items))
    assert reduction_factor(query, items) == pytest.approx(n * (1 + rho) / (n + rho))


@given(query=queries, item=st.integers(1, 20))
def test_the_reduction_grows_to_one_plus_rho(query: int, item: int) -> None:
    factors = [reduction_factor(query, [item] * n) for n in (1, 2, 10, 100, 100_000)]
    assert factors == sorted(factors)
    assert factors[0] == 1
    assert factors[-1] == pytest.approx(1 + query / item, rel=1e-2)


@given(query=queries, items=st.lists(st.integers(1, 20), min_size=2, max_size=20), data=st.data())
def test_splitting_a_round_costs_its_query_once_more(query: int, items: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(items) - 1))
    assert mis_tokens(query, items[:cut]) + mis_tokens(query, items[cut:]) == mis_tokens(query, items) + query


def test_the_figures_of_the_paper_come_out() -> None:
    """Sections 4.3 and 6.1: mean query 744, mean item 28, N = 200."""
    items = [28] * 200
    assert mis_tokens(744, items) == 6_344  # "about 6,400", 32 a label
    assert independent_tokens(744, items) == 154_400  # "154,000", 770 a label
    assert packed_generation_tokens(744, items, items_per_prompt=20) / 200 == pytest.approx(63, abs=3)
    assert reduction_factor(744, items) == pytest.approx(24, abs=0.5)


@given(query=queries, items=item_lengths, per_prompt=st.integers(1, 25))
def test_table_2_is_what_the_requests_hold_without_their_items(query: int, items: list[int], per_prompt: int) -> None:
    methods = table_2(query, len(items), items_per_prompt=per_prompt)
    own = sum(items)
    assert methods["mis"].most_query_tokens == mis_tokens(query, items) - own
    assert methods["independent"].most_query_tokens == independent_tokens(query, items) - own
    generated = packed_generation_tokens(query, items, items_per_prompt=per_prompt)
    assert methods["packed_generation"].most_query_tokens == generated - own
    assert [name for name, work in methods.items() if work.is_decoding] == ["packed_generation"]


@given(query=queries, n_items=st.integers(1, 20))
def test_a_prefix_cache_lies_between_mis_and_independent_requests(query: int, n_items: int) -> None:
    methods = table_2(query, n_items, items_per_prompt=20)
    cached, alone, mis = methods["prefix_cache"], methods["independent"], methods["mis"]
    assert (cached.least_query_tokens, cached.most_query_tokens) == (mis.most_query_tokens, alone.most_query_tokens)
    assert (mis.n_requests, cached.n_requests) == (1, alone.n_requests)


def test_nothing_to_score_costs_nothing_and_has_no_reduction() -> None:
    works = table_2(744, 0, items_per_prompt=20).values()
    assert {(work.n_requests, work.most_query_tokens) for work in works} == {(0, 0)}
    assert mis_tokens(744, []) == independent_tokens(744, []) == 0
    with pytest.raises(DataError, match="at least one item"):
        reduction_factor(744, [])
