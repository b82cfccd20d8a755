"""Orders and what they change: nothing for an isolating engine, labels for one that leaks."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.labeler.scoring import LabelerPrompt, LabelerScorer
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.cascade import CascadeEngine
from mis_scoring.evaluation.order_sensitivity import OrderChanges, orders_of
from tests.labeler_work import made_up_members
from tests.tiny_labeler import write_tiny_labeler
from tests.unit.test_engine_mutations import PlainCausalMask, PositionsRunOn, RowsOutOfOrder

CONTRACT = PromptContract(layout=COMPACT, answers=("YES", "NO"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tiny")
    write_tiny_labeler(made)
    return made


def reordered(folder: Path, engine: Engine) -> FloatArray:
    """Return the margins of four members in three orders, (3, 48)."""
    scorer = LabelerScorer(prompt=LabelerPrompt.of(folder, CONTRACT), engine=engine)
    members = made_up_members(4, seed=1)
    orders = orders_of([12] * 4, group_sizes=(5, 5, 2), seed=0)
    return np.stack([
        np.concatenate([
            scorer.in_groups(m, places, order.group_size)[0] for m, places in zip(members, order.places, strict=True)
        ])
        for order in orders
    ])  # fmt: skip


def changes(moved: FloatArray) -> OrderChanges:
    return OrderChanges.of(list(moved >= np.median(moved[0, :12])))  # the cut parts the first member's candidates


def test_an_isolating_engine_keeps_its_labels(folder: Path) -> None:
    moved = reordered(folder, CascadeEngine(folder))
    assert changes(moved) == OrderChanges(n_pairs=48, n_orders=3, n_changed=0, inconsistency=0.0)
    assert np.ptp(moved, axis=0).max() < 1e-4 < np.ptp(moved[0])


@pytest.mark.parametrize("leak", [PlainCausalMask, PositionsRunOn, RowsOutOfOrder])
def test_an_engine_that_leaks_is_seen(leak: type[Engine], folder: Path) -> None:
    moved = reordered(folder, leak(folder))
    assert np.ptp(moved, axis=0).max() > 1e-2
    assert changes(moved).changed_share > 0


def test_what_is_asked_is_what_the_groups_say(folder: Path) -> None:
    asked: list[int] = []

    class Counting(CascadeEngine):
        def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
            asked.append(len(items))
            return super().label_logits(query, items, label_tokens)

    reordered(folder, Counting(folder))
    assert asked == [5, 5, 2] * 8 + [2] * 6 * 4


@given(n=st.lists(st.integers(1, 40), min_size=1, max_size=4), seed=st.integers(0, 9))
def test_orders_hold_every_candidate_once_and_begin_with_the_rank_order(n: list[int], seed: int) -> None:
    sizes = (20, 5, 10, 2)
    orders = orders_of(n, group_sizes=sizes, seed=seed)
    assert orders == orders_of(n, group_sizes=sizes, seed=seed)
    assert [list(places) for places in orders[0].places] == [list(range(k)) for k in n]
    assert all(sorted(p) == list(range(k)) for order in orders for p, k in zip(order.places, n, strict=True))
    assert [order.group_size for order in orders] == list(sizes)


@given(n=st.lists(st.integers(1, 40), min_size=1, max_size=4), size=st.integers(1, 50))
def test_groups_are_the_orders_places_in_turn(n: list[int], size: int) -> None:
    order = orders_of(n, group_sizes=(size, size), seed=3)[1]
    places: list[list[int]] = [[] for _ in n]
    for member, group in order.groups():
        assert 1 <= len(group) <= size
        places[member] += group
    assert places == order.places


def test_a_label_changes_when_it_differs_or_is_missing_in_another_order() -> None:
    first = np.array([1, 0, 1, 0], np.int8)
    found = OrderChanges.of([first, np.array([1, 0, 0, 0], np.int8), np.array([1, 0, 0, -1], np.int8)])
    assert found.inconsistency == pytest.approx((1 + 2) / 8)
    assert (found.n_changed, found.changed_share) == (2, 0.5)
    assert OrderChanges.of([first, first]).changed_share == 0.0
