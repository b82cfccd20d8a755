"""Delta tables that stay open in a process that answers many questions.

Opening a table replays its log, which takes longer than to find the rows of a member in it; one that is open reads only
what its log has got since. A table that was made anew at the same path is opened anew: the commit that was read last is
gone, or another file. Holds the list of files of each table that was asked for.
"""

import threading
from pathlib import Path

from deltalake import DeltaTable

Mark = tuple[int, int]

_lock = threading.Lock()
_opened: dict[str, tuple[DeltaTable, Mark]] = {}


def open_table(path: str) -> DeltaTable:
    """Return a table as it is now."""
    with _lock:
        delta, mark = _opened.pop(path, (None, None))
        if delta is not None and _mark(path, delta) == mark:
            delta.update_incremental()
        else:
            delta = DeltaTable(path)
        mark = _mark(path, delta)
        if mark is not None:
            _opened[path] = delta, mark
        return delta


def _mark(path: str, delta: DeltaTable) -> Mark | None:
    """Return what tells the last commit read from one of its number in another table; None where it is gone."""
    try:
        found = (Path(path) / "_delta_log" / f"{delta.version():020}.json").stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns
