"""What an item's readout row sees, as (position, token): its single prompt, and anything else is caught."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.packing import PackedRequest, mis_mask, pack

TOKENS = st.lists(st.integers(0, 10_239), min_size=1, max_size=6)
ITEMS = st.lists(TOKENS, min_size=2, max_size=6)


def seen_by(packed: PackedRequest, mask: npt.NDArray[np.bool_], item: int) -> list[tuple[int, int]]:
    seen = np.flatnonzero(mask[packed.readout_rows[item]])
    return sorted(zip(packed.position_ids[seen].tolist(), packed.token_ids[seen].tolist(), strict=True))


def seen_by_all(packed: PackedRequest) -> list[list[tuple[int, int]]]:
    return [seen_by(packed, mis_mask(packed), item) for item in range(len(packed.readout_rows))]


def single_prompt(query: list[int], item: list[int]) -> list[tuple[int, int]]:
    return list(enumerate([*query, *item]))


@given(query=TOKENS, items=ITEMS)
def test_each_readout_row_sees_exactly_its_single_prompt(query: list[int], items: list[list[int]]) -> None:
    assert seen_by_all(pack(query, items)) == [single_prompt(query, item) for item in items]


@given(query=TOKENS, items=ITEMS)
def test_a_plain_causal_mask_is_caught(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    causal = np.tri(len(packed.token_ids), dtype=np.bool_)
    assert seen_by(packed, causal, len(items) - 1) != single_prompt(query, items[-1])


@given(query=TOKENS, items=ITEMS)
def test_positions_that_run_on_are_caught(query: list[int], items: list[list[int]]) -> None:
    packed = pack(query, items)
    running = replace(packed, position_ids=np.arange(len(packed.token_ids)))
    assert seen_by(running, mis_mask(packed), len(items) - 1) != single_prompt(query, items[-1])


@given(query=TOKENS, items=ITEMS, seed=st.integers(0, 2**16))
def test_the_order_of_items_moves_rows_and_nothing_else(query: list[int], items: list[list[int]], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(items)).tolist()
    straight = seen_by_all(pack(query, items))
    assert seen_by_all(pack(query, [items[i] for i in order])) == [straight[i] for i in order]


@given(query=TOKENS, items=ITEMS, data=st.data())
def test_a_round_split_in_two_joins_to_the_whole(query: list[int], items: list[list[int]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(items) - 1))
    joined = seen_by_all(pack(query, items[:cut])) + seen_by_all(pack(query, items[cut:]))
    assert joined == seen_by_all(pack(query, items))
