"""The loop of a process that answers JSON lines (`engines.engine_process`): one request after the other, or several.

It ends with its owner, also when that was killed: the end of its input is the end of its process group.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Protocol, TextIO

from mis_scoring.core.errors import EngineDeadError
from mis_scoring.engines.engine_process import READY

Message = dict[str, Any]


class Host(Protocol):
    """What a process of the server does."""

    n_concurrent: int
    """Requests at a time, each in a thread; 1: in the main thread."""

    def ready(self) -> Message:
        """Say what it is, once it can answer."""
        ...

    def answer(self, request: Message) -> Message:
        """Answer a request; an `EngineDeadError` ends the process, so that its owner starts another."""
        ...


def run_host(make: Callable[[], Host], answers: int) -> None:
    """Make the host and answer until the owner hangs up.

    Args:
        answers: the number of the file that answers go to.
    """
    requests: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    lock = threading.Lock()
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        try:
            host = make()
        except BaseException as error:
            _write(out, lock, {"number": READY, "error": f"{type(error).__name__}: {error}"})
            raise
        _write(out, lock, {"number": READY} | host.ready())
        if host.n_concurrent == 1:
            while True:
                _answer(host, requests.get(), out, lock)
        with ThreadPoolExecutor(host.n_concurrent) as threads:
            while True:
                threads.submit(_answer, host, requests.get(), out, lock)


def _answer(host: Host, line: str, out: TextIO, lock: threading.Lock) -> None:
    request = json.loads(line)
    try:
        answer = host.answer(request)
    except EngineDeadError as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        os._exit(1)
    except BaseException as error:  # a bug: the owner reads its kind in the last lines, and starts another
        sys.stderr.write(f"{type(error).__name__} in {type(host).__name__}\n")
        sys.stderr.flush()
        os._exit(1)
    _write(out, lock, {"number": request["number"]} | answer)


def _read(requests: "SimpleQueue[str]") -> None:
    for line in sys.stdin:
        requests.put(line)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _write(out: TextIO, lock: threading.Lock, answer: Message) -> None:
    with lock:
        out.write(json.dumps(answer) + "\n")
        out.flush()
