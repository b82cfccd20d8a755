"""How far a long step has come: a line every few seconds where something moved, counted by files that workers leave.

Counts come from the shared staging root, since the work may run in any process of a cluster.
"""

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)

_EVERY_S = 5.0


@contextmanager
def logged_progress(say: Callable[[], str], *, every_s: float = _EVERY_S) -> Iterator[None]:
    """Log what `say` returns while the block runs, whenever it has changed."""
    is_done = threading.Event()

    def report() -> None:
        before = None
        while not is_done.wait(every_s):
            said = say()
            if said != before:
                log.info("%s", said)
            before = said

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def tally_into(folder: str) -> Callable[[int], None]:
    """Return what a worker calls with how many more it has done; the folder must be there."""
    own = Path(folder) / uuid.uuid4().hex

    def add(n: int) -> None:
        with own.open("ab") as file:  # a byte each: an append is never seen in part
            file.write(bytes(n))

    return add


def tally(folder: Path, *, at_most: int) -> int:
    """Return how many all workers have done; a task that ran twice counts twice, so no more than there are."""
    return min(at_most, sum(file.stat().st_size for file in folder.iterdir()))
