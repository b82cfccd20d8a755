"""A measurement under load: it counts what ended, and a request that fails ends it instead of being waited for."""

import threading
from collections.abc import Sequence

import pytest

from mis_scoring.bench import gpu
from mis_scoring.bench.full_queue import full_queue
from mis_scoring.core.errors import EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from tests.ray.fake_engines import FakeEngine

REQUESTS = [([1, 2, 3], [[4], [5, 6]]), ([7, 8], [[9], [10]])]


class Benched(FakeEngine):
    """Fails from a request on; two callers at a time, and none answered before both are there."""

    def __init__(self, *, fails_at: int) -> None:
        super().__init__("benched")
        self.n_concurrent = 2
        self._fails_at, self._n_asked = fails_at, 0
        self._both = threading.Barrier(2, timeout=30)

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        self._n_asked += 1
        if self._n_asked > self._fails_at:
            self._both.abort()
            raise EngineError("the device is gone")
        if self._n_asked <= 2:
            self._both.wait()
        return super().label_logits(query, items, label_tokens)

    def close(self) -> None:
        """Nothing to close."""


def test_an_engine_gets_as_many_requests_at_once_as_it_takes_and_each_is_counted_with_its_place() -> None:
    with full_queue([Benched(fails_at=10**9)], REQUESTS, gpu.LABELS) as queue:
        queue.wait_for(20)
    assert len(queue.answered) >= 20 and {one.request for one in queue.answered} == {0, 1}
    assert all(0 <= one.spent_s < one.at for one in queue.answered)


def test_a_request_that_fails_ends_the_measurement_with_its_error() -> None:
    with (
        pytest.raises(EngineError, match="the device is gone"),
        full_queue([Benched(fails_at=5)], REQUESTS, gpu.LABELS) as queue,
    ):
        queue.wait_for(10**6)


def test_a_plan_names_method_engines_mps_and_cells() -> None:
    plan = gpu._plan("mis:2:mps:200x24,50x24")
    assert plan == {"method": "mis", "n_engines": 2, "mps": True, "cells": [(200, 24), (50, 24)]}
