"""Requests that wait for the engine: as many as fit are joined into the next forward, in the order of their arrival.

Nothing waits for company: an idle engine gets what is there at once, so batches form only while it is at work. A
request whose caller has gone (cancelled, or past its deadline) leaves the queue at once, with its tokens, and is not
scored: a forward that hangs keeps no more than what is under way.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mis_scoring.core.errors import SemlabelError
from mis_scoring.core.labels import TokenIds


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """What the engine is to do for one request; without items: to prefill the query of a stream."""

    query: TokenIds
    items: Sequence[TokenIds]
    stream: str | None = None
    queued_at: float = field(default_factory=time.time)
    done: "asyncio.Future[Any]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def n_tokens(self) -> int:
        """The most that it takes."""
        return len(self.query) + sum(len(item) for item in self.items)


Forward = Callable[[Sequence[Work]], Awaitable[Sequence[Any]]]


class Batcher:
    """The queue before an engine. Its bound is the server's bound on requests under way (`admission`).

    Args:
        forward: scores requests together; one result each, in their order, an error of ours where one has none.
    Attributes:
        max_batch_tokens: 0: every request goes alone.
        n_concurrent: forwards under way.
    """

    def __init__(self, forward: Forward, *, max_batch_tokens: int, n_concurrent: int) -> None:
        self._forward = forward
        self.max_batch_tokens, self.n_concurrent = max_batch_tokens, n_concurrent
        self._queue: dict[Work, None] = {}  # in the order of arrival; one that leaves costs no search
        self._running: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many wait: all that are held."""
        return len(self._queue)

    def add(self, work: Work) -> None:
        """Queue a request; `work.done` gets its result. To cancel that future takes it out again."""
        self._queue[work] = None
        work.done.add_done_callback(lambda _: self._queue.pop(work, None))
        self._go_on()

    def is_waiting(self, work: Work) -> bool:
        """Whether a request is not with the engine yet."""
        return work in self._queue

    def _go_on(self) -> None:
        while len(self._running) < self.n_concurrent and (batch := self._next_batch()):
            task = asyncio.create_task(self._run(batch))
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._go_on()

    def _next_batch(self) -> list[Work]:
        batch: list[Work] = []
        n_tokens = 0
        for work in self._queue:
            if work.done.done():  # it is about to leave
                continue
            n_tokens += work.n_tokens
            if batch and n_tokens > self.max_batch_tokens:
                break
            batch.append(work)
        for work in batch:
            del self._queue[work]
        return batch

    async def _run(self, batch: Sequence[Work]) -> None:
        try:
            results = await self._forward(batch)
        except SemlabelError as error:
            results = [error] * len(batch)
        for work, result in zip(batch, results, strict=True):
            if work.done.done():  # its caller has gone meanwhile
                continue
            if isinstance(result, SemlabelError):
                work.done.set_exception(result)
            else:
                work.done.set_result(result)
