"""Engines that score in no time: a margin is a function of the pair alone, unless one is broken on purpose."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mis_scoring.core.errors import DataError, EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import canary_pairs

MAX_TOKENS = 200
NUDGE = 3e-5  # of the reference: less than the canary tolerates, enough to tell the two apart
STOP_AFTER = "SEMLABEL_TEST_STOP_AFTER_REQUESTS"  # in the environment of the Ray that is to be killed


class FakeEngine:
    """The margin is a checksum of query and item, from -4 to 4 in steps of 1/8."""

    def __init__(self, name: str, *, shift: float = 0.0) -> None:
        self.name = name
        self.shift = shift
        self.batch_invariant = False
        self.max_tokens = MAX_TOKENS

    @property
    def fingerprint(self) -> Mapping[str, str]:
        return {"engine": self.name, "device": "none"}

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if len(query) + max(len(item) for item in items) > self.max_tokens:
            raise DataError(f"a prompt is longer than {self.max_tokens} tokens")
        yes = np.array([self.margin(query, item) for item in items], np.float32)
        return np.stack([yes, np.zeros_like(yes)], axis=1)

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


class GatedEngine(FakeEngine):
    """Hangs after as many requests as the environment says; without that it is an engine like any other."""

    n_requests = 0

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        self.n_requests += _is_request(query)
        while self.n_requests > int(os.environ.get(STOP_AFTER, 1_000_000)):
            time.sleep(0.1)
        return super().label_logits(query, items, label_tokens)


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


def gated(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return GatedEngine("gated"), FakeEngine("reference")
