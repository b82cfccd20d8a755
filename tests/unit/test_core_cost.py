"""The cost model against tokens that are counted in real packed requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.cost import independent_tokens, mis_tokens, packed_generation_tokens, reduction_factor
from mis_scoring.core.errors import DataError
from mis_scoring.core.packing import pack

QUERY = st.integers(1, 40)
ITEMS = st.lists(st.integers(1, 12), min_size=1, max_size=9)


@given(query=QUERY, items=ITEMS)
def test_mis_costs_the_tokens_of_one_packed_request(query: int, items: list[int]) -> None:
    assert mis_tokens(query, items) == len(pack([0] * query, [[0] * n for n in items]).token_ids)


@given(query=QUERY, items=ITEMS)
def test_independent_scoring_costs_the_query_again_for_every_item(query: int, items: list[int]) -> None:
    assert independent_tokens(query, items) == sum(mis_tokens(query, [item]) for item in items)


@given(query=QUERY, items=ITEMS)
def test_the_reduction_is_equation_5(query: int, items: list[int]) -> None:
    together = query + sum(items)
    assert reduction_factor(query, items) == pytest.approx(sum(query + item for item in items) / together)


@given(query=QUERY, item=st.integers(1, 12))
def test_the_reduction_grows_towards_one_plus_rho(query: int, item: int) -> None:
    limit = 1 + query / item
    factors = [reduction_factor(query, [item] * n) for n in (1, 2, 20, 200, 200_000)]
    assert factors[0] == 1.0
    assert factors == sorted(factors)
    assert factors[-1] < limit
    assert factors[-1] == pytest.approx(limit, rel=1e-3)


@given(query=QUERY, items=ITEMS, per_prompt=st.integers(1, 12))
def test_packed_generation_costs_the_query_once_a_prompt(query: int, items: list[int], per_prompt: int) -> None:
    chunks = [items[start : start + per_prompt] for start in range(0, len(items), per_prompt)]
    expected = sum(mis_tokens(query, chunk) for chunk in chunks)
    assert packed_generation_tokens(query, items, items_per_prompt=per_prompt) == expected


def test_two_hundred_short_items_on_a_long_profile_save_a_factor_of_28() -> None:
    assert reduction_factor(744, [24] * 200) == pytest.approx(27.7, abs=0.05)


def test_nothing_to_score_costs_nothing_and_has_no_reduction() -> None:
    assert mis_tokens(744, []) == 0
    with pytest.raises(DataError):
        reduction_factor(744, [])
