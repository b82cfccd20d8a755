"""Members scored by a pool's processes have the margins that one process gives them."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jobs.labeler import scoring_pool
from jobs.labeler.scoring_pool import ScorerSpec, ScoringPool
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.prompt import COMPACT
from mis_scoring.evaluation.order_sensitivity import orders_of
from tests.labeler_work import made_up_members
from tests.tiny_labeler import write_tiny_labeler


class PicklingPool:
    """What a process pool does to a call, without the ten seconds in which a process learns torch."""

    def __init__(self, *_: object, **__: object) -> None:
        self.is_ended = False

    def map(self, call: Callable[..., Any], *arguments: Iterable[Any], chunksize: int) -> Iterator[Any]:
        for each in zip(*arguments, strict=True):
            function, given = pickle.loads(pickle.dumps((call, each)))
            yield pickle.loads(pickle.dumps(function(*given)))

    def shutdown(self, *, cancel_futures: bool) -> None:
        self.is_ended = True


def test_processes_change_no_bit_and_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring_pool, "ProcessPoolExecutor", PicklingPool)
    write_tiny_labeler(tmp_path)
    contract = PromptContract(layout=COMPACT, answers=("YES", "NO"))
    members = made_up_members(9, seed=1)
    order = orders_of([12] * 9, group_sizes=(6, 5), seed=0)[1]
    with ScoringPool() as here, ScoringPool(2) as spread:
        spec = ScorerSpec(folder=tmp_path, contract=contract, engine="cascade", threads=1)
        for by_reference in (False, True):
            (one, cost), (other, summed) = (
                pool.score(spec, members, order, what="test", by_reference=by_reference) for pool in (here, spread)
            )
            np.testing.assert_array_equal(np.stack(one), np.stack(other))
            assert cost.token_figures() == summed.token_figures()
            assert summed.seconds > 0.0
    assert spread._pool.is_ended  # type: ignore[union-attr]
