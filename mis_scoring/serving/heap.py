"""The garbage collector's pauses: taken out of the hot path, and measured.

A full collection visits every object that a process ever loaded (torch and transformers: some hundred thousand) and
stops all threads meanwhile. `freeze_heap` leaves them out of all later ones.
"""

import gc
import time
from typing import Any


def freeze_heap() -> None:
    """Collect once, then leave all that is loaded out of later collections."""
    gc.collect()
    gc.freeze()


class CollectorPauses:
    """How long the collector has stopped this process since it was last asked; its own hook takes no lock."""

    def __init__(self) -> None:
        self._pauses_s: list[float] = []
        self._started = 0.0
        gc.callbacks.append(self._note)

    def take(self) -> list[float]:
        """Return the pauses since the last call, in seconds."""
        taken, self._pauses_s = self._pauses_s, []
        return taken

    def close(self) -> None:
        """Stop measuring."""
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, _: dict[str, Any]) -> None:
        if phase == "start":
            self._started = time.perf_counter()
        else:
            self._pauses_s.append(time.perf_counter() - self._started)
