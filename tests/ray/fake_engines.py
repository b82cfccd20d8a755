"""Engines that score in no time: a margin is a function of the pair alone, unless one is broken on purpose."""

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mis_scoring.core.cost import mis_tokens
from mis_scoring.core.errors import DataError, EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import canary_pairs

MAX_TOKENS = 200
NUDGE = 3e-5  # of the reference: less than the canary tolerates, enough to tell the two apart


class FakeEngine:
    """The margin is a checksum of query and item, from -4 to 4 in steps of 1/8."""

    def __init__(self, name: str, *, shift: float = 0.0) -> None:
        self.name = name
        self.shift = shift
        self.batch_invariant = False
        self.rounding, self.n_concurrent = 1e-4, 1
        self.max_tokens = MAX_TOKENS

    @property
    def fingerprint(self) -> Mapping[str, str]:
        return {"engine": self.name, "device": "none"}

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if len(query) + max(len(item) for item in items) > self.max_tokens:
            raise DataError(f"a prompt is longer than {self.max_tokens} tokens")
        yes = np.array([self.margin(query, item) for item in items], np.float32)
        return np.stack([yes, np.zeros_like(yes)], axis=1)

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        return mis_tokens(query_tokens, item_tokens)

    def margin(self, query: TokenIds, item: TokenIds) -> float:
        checksum = sum(place * token for place, token in enumerate([*query, *item], start=1))
        return checksum % 65 / 8 - 4 + self.shift


class LeakyEngine(FakeEngine):
    """Lets an item see the first one."""

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        return super().label_logits([*query, items[0][0]], items, label_tokens)


class DyingEngine(FakeEngine):
    """Fails at the first request that is no canary's."""

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if _is_request(query):
            raise EngineError("the device fell off the bus")
        return super().label_logits(query, items, label_tokens)


class PairedEngine(FakeEngine):
    """Answers a request of one batch only while one of another batch is there."""

    def __init__(self) -> None:
        super().__init__("paired")
        self._both = threading.Barrier(2, timeout=60)

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if _is_request(query):
            self._both.wait()
        return super().label_logits(query, items, label_tokens)


class Steering:
    """What a test and the engines of its artifact tell each other, through files beside the artifact's folder."""

    def __init__(self, artifact: Path) -> None:
        self.folder = artifact.parent / "steering"
        self.folder.mkdir(exist_ok=True)

    def order(self, what: str, *, after_requests: int) -> None:
        """Tell every engine to `hang`, `die` (once) or `leak` at the request after so many of its own."""
        (self.folder / what).write_text(str(after_requests))

    def recall(self, what: str) -> None:
        (self.folder / what).unlink(missing_ok=True)

    def is_due(self, what: str, n_requests: int) -> bool:
        order = self.folder / what
        return order.exists() and n_requests > int(order.read_text())

    def note(self, what: str, line: str) -> None:
        with (self.folder / what).open("a") as file:
            file.write(line + "\n")

    def noted(self, what: str) -> list[str]:
        file = self.folder / what
        return file.read_text().splitlines() if file.exists() else []


class SteeredEngine(FakeEngine):
    """Notes its process as `engines` and each query as `requests`, and does what it is ordered to."""

    def __init__(self, artifact: Path) -> None:
        super().__init__("steered")
        self.steering = Steering(artifact)
        self.steering.note("engines", str(os.getpid()))
        self.n_requests = 0

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if _is_request(query):
            self.n_requests += 1
            self.steering.note("requests", str(list(query)))
            self._obey()
        if self.steering.is_due("leak", self.n_requests):
            query = [*query, items[0][0]]
        return super().label_logits(query, items, label_tokens)

    def _obey(self) -> None:
        while self.steering.is_due("hang", self.n_requests):
            time.sleep(0.05)
        if self.steering.is_due("die", self.n_requests):
            self.steering.recall("die")
            os.kill(os.getpid(), signal.SIGKILL)


def _is_request(query: TokenIds) -> bool:
    """Whether this is a member's query; those of the canary are its own random tokens."""
    return list(query) != list(canary_pairs().query)


def plain(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return FakeEngine("fake"), FakeEngine("reference")


def nudged_reference(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return FakeEngine("fake"), FakeEngine("reference", shift=NUDGE)


def leaky(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return LeakyEngine("leaky"), FakeEngine("reference")


def dying(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return DyingEngine("dying"), FakeEngine("reference")


def paired(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return PairedEngine(), FakeEngine("reference")


def steered(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return SteeredEngine(folder), FakeEngine("reference")
