"""The engine with the queue before it: what is asked of it, what it answered, and whether it may be asked at all."""

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mis_scoring.core.errors import DataError, EngineDeadError, EngineError
from mis_scoring.core.labels import TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving.batcher import Batcher, Work
from mis_scoring.serving.engine_host import HostOptions
from mis_scoring.serving.metrics import ServerMetrics
from mis_scoring.serving.settings import ServerSettings
from mis_scoring.serving.supervised_host import SupervisedHost

_MOST_FORWARDS = 64  # under way, whatever an engine takes; each has a thread that waits for its answer


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What the engine gave for a request; see `PairScores`.

    Attributes:
        started, forwarded, decided: when its forward began and ended, and when its ties were decided; seconds since the
            epoch.
    """

    margins: FloatArray
    is_reference: npt.NDArray[np.bool_]
    n_tokens: int
    tie_tokens: int
    started: float
    forwarded: float
    decided: float


class EngineQueue:
    """An engine process that is started again when it dies, and never asked again once its canary failed.

    Args:
        on_change: called when `refusal` may be another.
    """

    def __init__(
        self, spec: ScoreSpec, settings: ServerSettings, metrics: ServerMetrics, on_change: Callable[[], None]
    ) -> None:
        self._metrics, self._on_change = metrics, on_change
        self._max_batch_tokens = settings.max_batch_tokens
        self._canary_failure = ""
        self._newest_answer = 0
        self._releases: set[asyncio.Task[None]] = set()
        options = HostOptions(
            canary_every=settings.canary_every, n_prefilled=settings.n_prefilled, freeze_heap=settings.freeze_heap
        )
        self._host = SupervisedHost(
            "engine",
            (sys.executable, "-m", "mis_scoring.serving.engine_host", spec.to_json(), json.dumps(asdict(options))),
            env={"PYTHONPATH": ":".join(filter(None, sys.path))},
            start_timeout_s=settings.start_timeout_s,
            answer_timeout_s=settings.forward_timeout_s,
            n_threads=_MOST_FORWARDS,
            on_change=self._changed,
        )
        self._batcher = Batcher(self._forward, max_batch_tokens=0, n_concurrent=1)

    def __len__(self) -> int:
        """How many requests wait."""
        return len(self._batcher)

    @property
    def refusal(self) -> str:
        """Why it can't be asked now; empty while it can."""
        return self._canary_failure or self._host.reason

    @property
    def said(self) -> Mapping[str, Any]:
        """What the engine says of itself: engine, max_tokens, n_concurrent, takes_many."""
        return self._host.said

    @property
    def pid(self) -> int | None:
        """Of the engine's process."""
        return self._host.pid

    async def start(self) -> None:
        """Start the engine.

        Raises:
            EngineError: it did not start, or its canary failed.
        """
        await self._host.start()
        if self._canary_failure:
            raise EngineError(self._canary_failure)

    def add(self, query: TokenIds, items: Sequence[TokenIds], stream: str | None = None) -> Work:
        """Queue a request; `done` gets its `Scored`. Without items: the query of a stream is prefilled."""
        work = Work(query=query, items=items, stream=stream)
        self._batcher.add(work)
        return work

    def is_waiting(self, work: Work) -> bool:
        """Whether a request is not with the engine yet."""
        return self._batcher.is_waiting(work)

    def release(self, stream: str) -> None:
        """Let go of the prefilled query of a stream."""
        task = asyncio.create_task(self._release(stream))
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)

    async def close(self) -> None:
        """End the engine."""
        await self._host.close()

    async def _release(self, stream: str) -> None:
        with suppress(EngineDeadError):  # gone, and all that it kept with it
            self._tell_prefilled(await self._host.ask({"release": [stream]}))

    async def _forward(self, batch: Sequence[Work]) -> list[Scored | DataError]:
        if self._canary_failure:
            raise EngineError(self._canary_failure)
        self._metrics.batch_requests.observe(len(batch))
        self._metrics.batch_tokens.observe(sum(work.n_tokens for work in batch))
        requests = [{"query": one.query, "items": one.items, "stream": one.stream} for one in batch]
        answer = await self._host.ask({"requests": requests})
        if "canary" in answer:
            self._fail(answer["canary"])
            raise EngineError(self._canary_failure)
        if "error" in answer:
            raise EngineError(answer["error"])
        self._metrics.tell_pauses(answer["pauses_s"])
        self._tell_prefilled(answer)
        return [_result(one, answer["times"]) for one in answer["scores"]]

    def _tell_prefilled(self, answer: Mapping[str, Any]) -> None:
        """Answers reach this process in any order: the one that the engine gave last counts."""
        if answer["number"] > self._newest_answer:
            self._newest_answer = answer["number"]
            self._metrics.prefilled_queries.set(answer["n_prefilled"])

    def _changed(self) -> None:
        if not self._host.reason:
            self._newest_answer = 0
            self._metrics.prefilled_queries.set(0)
            self._metrics.engine_starts.inc()
            said = self._host.said
            self._batcher.n_concurrent = said["n_concurrent"]
            self._batcher.max_batch_tokens = self._max_batch_tokens if said["takes_many"] else 0
            if said["canary"]:
                self._fail(said["canary"])
        self._on_change()

    def _fail(self, failure: str) -> None:
        self._metrics.canary_failures.inc()
        self._canary_failure = failure
        self._on_change()


def _result(one: Mapping[str, Any], times: Sequence[float]) -> Scored | DataError:
    if "fault" in one:
        return DataError(one["fault"])
    return Scored(
        margins=np.asarray(one["margins"], np.float32),
        is_reference=np.asarray(one["is_reference"], np.bool_),
        n_tokens=one["n_tokens"],
        tie_tokens=one["tie_tokens"],
        started=times[0],
        forwarded=times[1],
        decided=times[2],
    )
