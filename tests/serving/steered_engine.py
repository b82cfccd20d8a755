"""Engines of the server's tests: a margin is a checksum of the pair; a test steers them through files.

`engine="tests.serving.steered_engine:make_pair"`: the server loads them in its engine process, by that name.
"""

import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mis_scoring.core.engine import Engine, QueryItems
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import canary_pairs
from tests.ray.fake_engines import NUDGE, FakeEngine, Steering

ENGINE = "tests.serving.steered_engine:make_pair"
N_TOGETHER = 3
N_LOST = 5
_FOREIGN = tuple(tuple(ids) for ids in (canary_pairs().query, canary_pairs().poison))


def make_pair(folder: Path, *, threads: int) -> tuple[Engine, Engine]:
    """Return the engine and its reference."""
    return SteeredEngine(folder), FakeEngine("reference", shift=NUDGE)


def make_concurrent_pair(folder: Path, *, threads: int) -> tuple[Engine, Engine]:
    """Return an engine that answers a request only once two more are there, and its reference."""
    return Together(), FakeEngine("reference", shift=NUDGE)


class Together(FakeEngine):
    def __init__(self) -> None:
        super().__init__("together")
        self.n_concurrent = N_TOGETHER
        self._barrier = threading.Barrier(N_TOGETHER, timeout=20)

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if not _is_canary(query):
            self._barrier.wait()
        return super().label_logits(query, items, label_tokens)


class SteeredEngine(FakeEngine):
    """Notes each forward as `forwards`: of each request [query tokens computed, items]; waits while `wait` is ordered.

    Other orders: `fail` (an `EngineError`), `break` (a bug), `die`, `leak` (an item sees the first one), `lose` (no
    scores for a request of `N_LOST` items).
    """

    def __init__(self, artifact: Path) -> None:
        super().__init__("steered")
        self.steering = Steering(artifact)
        self.steering.note("engines", str(os.getpid()))

    def label_logits_of_many(self, requests: Sequence[QueryItems], label_tokens: LabelTokens) -> list[FloatArray]:
        # the canary's own tokens start its query and its stranger's; its items end with the labeler's suffix
        own = [one for one in requests if not _is_canary(one.query)]
        if own:
            self.steering.note("forwards", json.dumps([_shape(one) for one in own]))
            self._obey()
        for one in requests:
            if one.query_keys is not None and not one.query_keys:
                one.query_keys[0] = tuple(one.query)
        return [self.label_logits(_read(one), one.items, label_tokens) for one in requests]

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if not items:
            return super().label_logits(query, [[0]], label_tokens)[:0]
        if self.steering.is_due("leak", 1):
            query = [*query, items[0][0]]
        found = super().label_logits(query, items, label_tokens)
        return found * np.nan if self.steering.is_due("lose", 1) and len(items) == N_LOST else found

    def _obey(self) -> None:
        while self.steering.is_due("wait", 1):
            time.sleep(0.005)
        for what, error in (("fail", _engine_error), ("break", _bug), ("die", _death)):
            if self.steering.is_due(what, 1):
                self.steering.recall(what)
                error()


def _engine_error() -> None:
    from mis_scoring.core.errors import EngineError

    raise EngineError("the device fell off the bus")


def _bug() -> None:
    raise RuntimeError("Zanzibarian")


def _death() -> None:
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def _is_canary(query: TokenIds) -> bool:
    return any(tuple(query[: len(known)]) == known for known in _FOREIGN)


def _read(request: QueryItems) -> TokenIds:
    """The query as the keys say it: what a stream's items see is what was prefilled, not what came with them."""
    kept: Any = (request.query_keys or {}).get(0)
    return request.query if kept is None else kept


def _shape(request: QueryItems) -> list[int]:
    return [0 if request.query_keys else len(request.query), len(request.items)]
