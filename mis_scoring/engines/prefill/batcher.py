"""Requests of several callers through one forward after the other; the host prepares one while the device computes.

One thread chooses, plans and launches; one waits for answers and hands them out. Two slots: while forward n runs, n +
1 is planned, copied and queued behind it; what arrives meanwhile waits for n + 2, so forwards fill up under load and a
lone request goes at once.
"""

import logging
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Protocol

from mis_scoring.core.errors import EngineDeadError
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.prefill.errors import NonFiniteError
from mis_scoring.engines.prefill.plan import ForwardPlan, Limits, Part, choose_parts, plan_forward

log = logging.getLogger(__name__)

N_SLOTS = 2
Waiting = tuple[Part, "Future[FloatArray]"]


class Runner(Protocol):
    """What a batcher drives; slots are numbered from 0."""

    def launch(self, slot: int, plan: ForwardPlan) -> None:
        """Queue a forward."""
        ...

    def finish(self, slot: int, plan: ForwardPlan) -> FloatArray:
        """Wait for it, and return (n_items, 2) float32. Raises EngineError."""
        ...


class Batcher:
    """Owns two threads until it is closed. An error of a forward is the error of every request in it.

    But a value that is not finite: it spreads to neighbours, so each of them is scored again, alone, and the error is
    that of the request that has it alone.
    """

    def __init__(self, runner: Runner, limits: Limits, *, token_budget: int) -> None:
        self._runner, self._limits, self._budget = runner, limits, token_budget
        self._waiting: list[Waiting] = []
        self._alone: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._failure: BaseException | None = None
        self._free: SimpleQueue[int] = SimpleQueue()
        self._launched: SimpleQueue[tuple[int, ForwardPlan, list[Waiting]] | None] = SimpleQueue()
        for slot in range(N_SLOTS):
            self._free.put(slot)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._launch_all, self._finish_all)]
        for thread in self._threads:
            thread.start()

    def submit(self, part: Part) -> "Future[FloatArray]":
        """Ask for a part's logits, (n_items, 2).

        Raises:
            EngineDeadError: the engine is closed, or its device failed.
        """
        answer: Future[FloatArray] = Future()
        with self._changed:
            if self._is_closed:
                raise EngineDeadError(f"engine 'prefill' is gone: {self._failure or 'it was closed'}")
            self._waiting.append((part, answer))
            self._changed.notify()
        return answer

    def close(self) -> None:
        """Let what is under way end, refuse the rest, and end the threads."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        for thread in self._threads:
            thread.join()

    def _launch_all(self) -> None:
        while True:
            slot = self._free.get()
            chosen = self._next()
            if not chosen:
                self._launched.put(None)
                return
            try:
                plan = plan_forward([part for part, _ in chosen])
                self._runner.launch(slot, plan)
            except Exception as error:  # told to whoever asked
                self._fail(chosen, error)
                self._free.put(slot)
                continue
            self._launched.put((slot, plan, chosen))

    def _next(self) -> list[Waiting]:
        """Wait for parts and take those of the next forward; none once it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._alone or self._is_closed)
            if self._is_closed:
                refused, self._waiting = [*self._alone, *self._waiting], []
                self._alone.clear()
                self._refuse(refused)
                return []
            if self._alone:
                return [self._alone.popleft()]
            places = choose_parts([part for part, _ in self._waiting], self._limits, token_budget=self._budget)
            chosen = [self._waiting[place] for place in places]
            self._waiting = [one for place, one in enumerate(self._waiting) if place not in set(places)]
            return chosen

    def _finish_all(self) -> None:
        while (launched := self._launched.get()) is not None:
            slot, plan, chosen = launched
            try:
                logits = self._runner.finish(slot, plan)
            except Exception as error:  # told to whoever asked
                self._fail(chosen, error)
            else:
                for number, (_, answer) in enumerate(chosen):
                    answer.set_result(logits[plan.part_items[number] : plan.part_items[number + 1]])
            self._free.put(slot)

    def _refuse(self, refused: Sequence[Waiting]) -> None:
        for _, answer in refused:
            answer.set_exception(EngineDeadError(f"engine 'prefill' is gone: {self._failure or 'it was closed'}"))

    def _fail(self, chosen: Sequence[Waiting], error: Exception) -> None:
        if isinstance(error, NonFiniteError) and len(chosen) > 1:
            log.warning("%s; each goes again, alone", error)
            self._again_alone(chosen)
            return
        if isinstance(error, EngineDeadError):
            with self._changed:
                self._failure, self._is_closed = error, True
                self._changed.notify()
        for _, answer in chosen:
            answer.set_exception(error)

    def _again_alone(self, chosen: Sequence[Waiting]) -> None:
        with self._changed:
            if self._is_closed:
                self._refuse(chosen)
            else:
                self._alone.extend(chosen)
                self._changed.notify()
