"""Take a member out of what serves between refreshes: the inbox of updates, and the key-value store.

The inbox first: what waits there would come back into `profiles`. The store after the rows are gone from the tables:
the feeder finds nothing of the member any more, and the store remembers the hash of the id.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from jobs.kv.store import open_store, store_is_there
from jobs.settings import Settings
from jobs.updates.inbox import Inbox, inbox_is_there, open_inbox


def has_update(settings: Settings, member_id: str) -> bool:
    """Whether an update of the member ever came."""
    with _inbox(settings) as inbox:
        return inbox is not None and inbox.knows(member_id)


def forget_updates(settings: Settings, member_id: str) -> int:
    """Remove the member's updates, and return how many there were."""
    with _inbox(settings) as inbox:
        return 0 if inbox is None else inbox.forget(member_id)


@contextmanager
def _inbox(settings: Settings) -> Iterator[Inbox | None]:
    """Yield the inbox, or None where there is none."""
    if not inbox_is_there(settings):
        yield None
        return
    with closing(open_inbox(settings)) as inbox:
        yield inbox


def forget_served(settings: Settings, member_id: str) -> bool:
    """Remove the member's labels from the store, and return whether there were any.

    Raises:
        StoreAwayError: the store does not answer; the erasure goes on when it is run again.
    """
    if not store_is_there(settings):
        return False
    with closing(open_store(settings)) as store:
        return store.forget(member_id)
