"""Between host and device: one copy to it and one back a forward, from and to memory that was taken at the start.

A slot holds one forward as int32 words, `[logits | checks | plan]`. Checks and plan travel to the device, logits and
checks travel back, each without a gap. On a GPU the copy to it runs on a stream of its own, beside the forward before.
"""

from collections.abc import Mapping

import numpy as np
import torch

from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.prefill.attention.interface import DevicePlan, Tables
from mis_scoring.engines.prefill.forward import Answers
from mis_scoring.engines.prefill.plan import ForwardPlan, Ints, Limits, padded_rows
from mis_scoring.engines.prefill.rows import NOTHING_WRONG
from mis_scoring.engines.prefill.tiles import table_words

ALIGNMENT = 32  # words: 128 bytes, so that kernels are compiled for one alignment of their pointers


class Slot:
    """Memory of one forward on both sides; for one forward at a time, from `put` to the end of `wait`."""

    def __init__(self, limits: Limits, *, group: int, n_checks: int, device: str) -> None:
        self._checks_at = 2 * padded_rows(limits.max_items)
        self._plan_at = _aligned(self._checks_at + n_checks)
        self._n_checks = n_checks
        size = self._plan_at + plan_words(limits, group)
        self._is_gpu = torch.device(device).type == "cuda"
        self._host = torch.zeros(size, dtype=torch.int32, pin_memory=self._is_gpu)
        self._device = torch.zeros(size, dtype=torch.int32, device=device)
        if self._is_gpu:
            self._copies = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._sent, self._done = torch.cuda.Event(), torch.cuda.Event()  # type: ignore[no-untyped-call]

    def put(self, plan: ForwardPlan, tables: Tables) -> None:
        """Write a plan into the host's memory."""
        self._plan = plan
        self._places: dict[str, tuple[slice, tuple[int, ...]]] = {}
        words = self._host.numpy()
        words[self._checks_at : self._checks_at + self._n_checks] = NOTHING_WRONG
        self._end = self._plan_at
        for name, (array, n_rows) in padded_arrays(plan, tables).items():
            shape = (n_rows, *array.shape[1:])
            place = slice(self._end, self._end + int(np.prod(shape)))
            words[place.start : place.start + array.size] = array.reshape(-1)
            words[place.start + array.size : place.stop] = 0
            self._places[name] = (place, shape)
            self._end = _aligned(place.stop)

    def send(self) -> tuple[DevicePlan, Answers]:
        """Copy it to the device, and return it there with the place of its answers."""
        used = slice(self._checks_at, self._end)
        if self._is_gpu:
            with torch.cuda.stream(self._copies):
                self._device[used].copy_(self._host[used], non_blocking=True)
                self._sent.record(self._copies)  # type: ignore[no-untyped-call]
            torch.cuda.current_stream().wait_event(self._sent)
        else:
            self._device[used].copy_(self._host[used])
        arrays = {name: self._device[place].view(shape) for name, (place, shape) in self._places.items()}
        logits = self._device[self._logits].view(torch.float32).view(-1, 2)
        lowest_rows = self._device[self._checks_at : self._checks_at + self._n_checks]
        return DevicePlan(host=self._plan, arrays=arrays), Answers(logits=logits, lowest_rows=lowest_rows)

    def fetch(self) -> None:
        """Queue the copy back, behind the forward."""
        used = slice(self._logits.start, self._checks_at + self._n_checks)
        self._host[used].copy_(self._device[used], non_blocking=self._is_gpu)
        if self._is_gpu:
            self._done.record()  # type: ignore[no-untyped-call]

    def wait(self) -> tuple[FloatArray, Ints]:
        """Wait for the answers: logits, (n_items, 2), and the lowest row of every check."""
        if self._is_gpu:
            self._done.synchronize()
        words = self._host.numpy()
        logits = words[self._logits].view(np.float32).reshape(-1, 2)[: self._plan.n_items].copy()
        return logits, words[self._checks_at : self._checks_at + self._n_checks].copy()

    @property
    def _logits(self) -> slice:
        return slice(self._checks_at - 2 * self._plan.n_readout_rows, self._checks_at)


def padded_arrays(plan: ForwardPlan, tables: Tables) -> Mapping[str, tuple[Ints, int]]:
    """Return what travels, by name, with the rows that it is filled up to with zeros."""
    of_tokens = {name: getattr(plan, name) for name in ("token_ids", "positions", "segment_starts")}
    of_items = {name: getattr(plan, name) for name in ("readout_tokens", "label_ids")}
    return (
        {name: (array, plan.n_rows) for name, array in of_tokens.items()}
        | {name: (array, plan.n_readout_rows) for name, array in of_items.items()}
        | {name: (table, len(table)) for name, table in tables.items()}
    )


def plan_words(limits: Limits, group: int) -> int:
    """Return the words of the longest plan that the limits allow."""
    arrays = 3 * padded_rows(limits.max_tokens) + 3 * padded_rows(limits.max_items)
    return arrays + table_words(limits, group) + 16 * ALIGNMENT


def _aligned(words: int) -> int:
    return -(-words // ALIGNMENT) * ALIGNMENT
