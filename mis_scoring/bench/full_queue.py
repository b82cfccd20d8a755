"""Engines under a full queue: requests follow each other for as long as somebody measures."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from mis_scoring.bench.engines import ClosableEngine, Request
from mis_scoring.core.labels import LabelTokens

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A request that is done.

    Attributes:
        at: when, on `time.perf_counter`'s clock; spent_s: how long it took.
        request: its place among the requests.
    """

    at: float
    spent_s: float
    request: int


@dataclass
class FullQueue:
    """What the engines have done so far."""

    answered: list[Answered] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def wait_for(self, n: int) -> None:
        """Return once so many requests are done.

        Raises:
            Exception: that of the first request that failed.
        """
        while len(self.answered) < n:
            self.require_sound()
            time.sleep(_LOOK_EVERY_S)

    def require_sound(self) -> None:
        """Raise the first failure, if there is one."""
        if self.failures:
            raise self.failures[0]


@contextmanager
def full_queue(
    engines: Sequence[ClosableEngine], requests: Sequence[Request], labels: LabelTokens
) -> Iterator[FullQueue]:
    """Ask every engine for as many requests at once as it takes, over and over, while the block runs."""
    queue, is_over = FullQueue(), threading.Event()
    numbers = iter(range(10**9))

    def ask(engine: ClosableEngine) -> None:
        while not is_over.is_set() and not queue.failures:
            place = next(numbers) % len(requests)
            started = time.perf_counter()
            try:
                engine.label_logits(*requests[place], labels)
            except Exception as failure:  # told to whoever measures
                queue.failures.append(failure)
                return
            now = time.perf_counter()
            queue.answered.append(Answered(at=now, spent_s=now - started, request=place))

    threads = [threading.Thread(target=ask, args=(engine,)) for engine in engines for _ in range(engine.n_concurrent)]
    for thread in threads:
        thread.start()
    try:
        yield queue
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
