"""Feed the store from publications, one after the other; killed at any moment, it goes on from the stored position.

The position moves only from where the feeder found it: where a rebuild or another feeder was first, it looks again.
"""

import logging
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from jobs.kv.from_delta import read_published
from jobs.kv.published import RunContent, published_since, read_content
from jobs.kv.store import LabelStore, PositionMovedError
from jobs.kv.value import Position

log = logging.getLogger(__name__)

_MEMBERS_AT_ONCE = 2_000
_LOOKS = 5


@dataclass(frozen=True, kw_only=True)
class Fed:
    """What a pass did.

    Attributes:
        runs: publications that were applied. members: values that were looked at.
        is_rebuilt: the store was empty, and was filled from the tables.
    """

    runs: int
    members: int
    is_rebuilt: bool


def feed(store: LabelStore, root: Path) -> Fed:
    """Apply what was published since the stored position; fill a store that has none.

    Raises:
        PositionMovedError: others fed or rebuilt the store at each of several looks.
    """
    looks = Retrying(retry=retry_if_exception_type(PositionMovedError), stop=stop_after_attempt(_LOOKS), reraise=True)
    return looks(_feed, store, root)


def _feed(store: LabelStore, root: Path) -> Fed:
    position = store.position()
    if position is None:
        return Fed(runs=0, members=rebuild(store, root), is_rebuilt=True)
    waiting, members = published_since(root, position), 0
    for publication in waiting:
        content = read_content(root, publication)
        after = position.after(publication.run_id, publication.at, publication.number if publication.has_commit else 0)
        _apply(store, content, position, after)
        position, members = after, members + len(content.covered)
    return Fed(runs=len(waiting), members=members, is_rebuilt=False)


def _apply(store: LabelStore, content: RunContent, before: Position, after: Position) -> None:
    """Apply a run in parts; the position moves with the last one, and parts that come twice change nothing."""
    members = iter(sorted(content.covered))
    while part := list(islice(members, _MEMBERS_AT_ONCE)):
        store.update(part, content.next_value, before, expected=before)
    store.update([], content.next_value, after, expected=before)


def rebuild(store: LabelStore, root: Path) -> int:
    """Fill the store from the tables, in place of all that it holds; return how many members it has then."""
    published = read_published(root)
    n_members = store.replace_all(published.values, published.position)
    log.info("the key-value store was filled: %d members", n_members)
    return n_members
