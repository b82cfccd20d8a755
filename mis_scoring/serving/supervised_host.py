"""A host process that is started again whenever it dies; whoever asks meanwhile is told why there is no answer."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from mis_scoring.core.errors import EngineDeadError
from mis_scoring.engines.engine_process import EngineProcess

log = logging.getLogger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0


class SupervisedHost:
    """One host at a time.

    Args:
        n_threads: requests that wait for an answer at a time; one more waits for a thread.
        on_change: called when it is there again, or no more.
    Attributes:
        said: what the host that is there said of itself when it was ready.
        n_starts: of this host, the first included.
        reason: why there is none; empty while there is one.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        start_timeout_s: float,
        answer_timeout_s: float,
        n_threads: int = 1,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.name, self.said, self.n_starts = name, dict[str, Any](), 0
        self.reason = f"{name} is starting"
        self.n_asked = 0  # requests without an answer yet
        self._command, self._env = command, env
        self._start_timeout_s, self._answer_timeout_s = start_timeout_s, answer_timeout_s
        self._on_change = on_change
        self._threads = ThreadPoolExecutor(n_threads + 1, thread_name_prefix=name)  # one more to start the next
        self._lock = threading.Lock()
        self._is_closed = False
        self._process: EngineProcess | None = None
        self._supervision: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Of the host that is there."""
        return None if self._process is None or self.reason else self._process.pid

    async def start(self) -> None:
        """Start the first one, and look after it from now on.

        Raises:
            EngineDeadError: it did not start.
        """
        await self._launch()
        self._supervision = asyncio.create_task(self._supervise())

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the host's answer.

        Raises:
            EngineDeadError: there is no host now, or it died over this request.
        """
        if self._process is None or self.reason:
            raise EngineDeadError(f"{self.reason}; it is started again by itself")
        self.n_asked += 1
        try:
            return await self._in_thread(self._process.ask, request, self._answer_timeout_s)
        finally:
            self.n_asked -= 1

    async def close(self) -> None:
        """End it for good."""
        with self._lock:
            self._is_closed, process = True, self._process
        if self._supervision is not None:
            self._supervision.cancel()
            with suppress(asyncio.CancelledError):
                await self._supervision
        if process is not None:
            process.close()
        self._threads.shutdown(wait=True)

    async def _supervise(self) -> None:
        while True:
            assert self._process is not None
            self._gone(await asyncio.wrap_future(self._process.ended))
            wait_s = _FIRST_WAIT_S
            while self.reason:
                try:
                    await self._launch()
                except EngineDeadError as error:
                    self._gone(str(error))
                    await asyncio.sleep(wait_s)
                    wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _gone(self, reason: str) -> None:
        log.error("%s is gone, and is started again: %s", self.name, reason)
        self.reason = reason
        self._on_change()

    async def _launch(self) -> None:
        self.said = await self._in_thread(self._started)
        self.n_starts += 1
        self.reason = ""
        self._on_change()

    def _started(self) -> dict[str, Any]:
        with self._lock:
            if self._is_closed:
                raise EngineDeadError(f"{self.name} was closed")
            self._process = process = EngineProcess(self.name, self._command, env=self._env)
        return process.wait_until_ready(self._start_timeout_s)

    async def _in_thread(self, call: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)
