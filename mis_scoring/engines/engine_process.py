"""A process group of its own behind two pipes: JSON lines in, JSON lines out, and nothing of it outlives its owner.

It is ended whole, by a kill of the group, when its owner closes it, hangs up (the group sees the end of its input, also
after a kill -9 of the owner), waits too long for an answer, or when its first process is gone.
"""

import json
import os
import signal
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from pathlib import Path
from typing import Any

from mis_scoring.core.errors import EngineDeadError

READY = 0  # the number of the answer that is given once, unasked
_LOG_LINES = 5


class EngineProcess:
    """Starts a command and asks it; the command gets the number of the file that answers go to as its last argument.

    Args:
        env: what is added to the environment.
    Attributes:
        ended: why the process is gone, once it is.
    """

    def __init__(self, name: str, command: Sequence[str], *, env: Mapping[str, str]) -> None:
        self._name = name
        self._log = Path(tempfile.mkstemp(prefix="semlabel-engine-", suffix=".log")[1])
        answers, write_answers = os.pipe()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, str(write_answers)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(write_answers,),
                start_new_session=True,
                env={**os.environ, **env},
            )
        os.close(write_answers)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[dict[str, Any]]] = {READY: Future()}
        self._n_asked = 0
        self._ended = ""
        self.ended: Future[str] = Future()
        self._finalizer = weakref.finalize(self, _kill_group, self._process, self._log)
        threading.Thread(target=self._listen, args=(answers,), daemon=True).start()

    @property
    def pid(self) -> int:
        """The first process of the group, and the group's number."""
        return self._process.pid

    def wait_until_ready(self, timeout_s: float) -> dict[str, Any]:
        """Return what it says of itself.

        Raises:
            EngineDeadError: it ended, said that it failed, or was not ready in time.
        """
        ready = self._answer(READY, self._waiting[READY], timeout_s)
        if "error" in ready:
            self.close()
            raise EngineDeadError(f"engine {self._name!r} did not start: {ready['error']}")
        return ready

    def ask(self, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return the answer; may be called from several threads at once.

        Raises:
            EngineDeadError: the process ended, or did not answer in time and was ended.
        """
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._ended:
                raise EngineDeadError(self._ended)
            self._n_asked += 1
            number = self._n_asked
            self._waiting[number] = future
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):  # the end of its answers tells why
                self._process.stdin.write(json.dumps({"number": number, **request}).encode() + b"\n")
                self._process.stdin.flush()
        return self._answer(number, future, timeout_s)

    def close(self) -> None:
        """End the whole group; to end it twice is no error."""
        with self._lock:
            self._ended = self._ended or f"engine {self._name!r} was closed"
        self._finalizer()

    def _answer(self, number: int, future: "Future[dict[str, Any]]", timeout_s: float) -> dict[str, Any]:
        try:
            return future.result(timeout_s)
        except FutureTimeoutError:
            last = _last_lines(self._log)
            self._end(f"engine {self._name!r} did not answer in {timeout_s:g} s and was ended; its last lines: {last}")
            raise EngineDeadError(self._ended) from None
        finally:
            self._waiting.pop(number, None)

    def _listen(self, answers: int) -> None:
        with os.fdopen(answers, encoding="utf-8") as lines:
            for line in lines:
                answer = json.loads(line)
                waiting = self._waiting.get(answer["number"])
                if waiting is not None:
                    waiting.set_result(answer)
        self._end(f"the process of engine {self._name!r} ended: {_last_lines(self._log)}")

    def _end(self, reason: str) -> None:
        with self._lock:
            self._ended = self._ended or reason
            if not self.ended.done():
                self.ended.set_result(self._ended)
            left = [future for future in self._waiting.values() if not future.done()]
        self._finalizer()
        for future in left:
            with suppress(Exception):  # answered meanwhile
                future.set_exception(EngineDeadError(self._ended))


def _kill_group(process: subprocess.Popen[bytes], log: Path) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    log.unlink(missing_ok=True)


def _last_lines(log: Path) -> str:
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return "it was closed"
    return " | ".join(lines[-_LOG_LINES:]) or "it left no message"
