"""The durable inbox: an update is on disk before it is acknowledged, and stays until its batch is done.

Of one member the highest `profile_version` wins, whatever order edits come in: the highest one ever taken in is kept,
so that an older edit is refused also after the newer one has left the inbox. A batch that was taken stands in the inbox
with its id; a worker that died takes the same batch again. SQLite (one file, WAL, every commit synced) or a PostgreSQL
by its URL, through the same statements. Grows with the updates that wait, up to a limit, and by an id and a number a
member for good. What is done for an update does not grow with what waits.
"""

import fcntl
import os
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.settings import Settings
from jobs.updates.inbox_tables import COUNTS, NEWEST, READS, UPDATES, open_database
from jobs.updates.update import ProfileUpdate

Outcome = Literal["accepted", "superseded", "repeated"]
"""What became of an update: it waits; a newer one is known; the same version is known, and the first of them holds."""

_LOCK = 7_366_001  # of PostgreSQL's advisory locks, which are numbers

_WAITING = "waiting"


class InboxFullError(CheckFailedError):
    """As many updates wait as may; none of those that were sent was taken in."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The updates that one run works on, one a member.

    Attributes:
        batch_id: the trigger of the run, so that a batch taken twice is one run.
        received_s: when the first edit came that each update stands for, seconds since 1970.
    """

    batch_id: str
    updates: tuple[ProfileUpdate, ...]
    received_s: tuple[float, ...]

    def without(self, member_ids: Collection[str]) -> "Batch | None":
        """Return the batch without some members; None where nobody is left."""
        kept = [(u, s) for u, s in zip(self.updates, self.received_s, strict=True) if u.member_id not in member_ids]
        if not kept:
            return None
        updates, received_s = zip(*kept, strict=True)
        return Batch(batch_id=self.batch_id, updates=updates, received_s=received_s)


@dataclass(frozen=True, kw_only=True)
class InboxFigures:
    """What lies in the inbox.

    Attributes:
        waiting, taken: updates.
        oldest_s: when the oldest of both came, seconds since 1970; None where there is none.
    """

    waiting: int
    taken: int
    oldest_s: float | None


class Inbox:
    """Updates that wait, and those that a batch has taken.

    Args:
        waiting_limit: so many wait at most.
    """

    def __init__(self, url: str, *, waiting_limit: int = 100_000) -> None:
        self._engine, self._waiting_limit = open_database(url), waiting_limit
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        self._reading = self._engine.execution_options(**{READS: True})
        with self._reading.connect() as connection:
            is_counted = connection.scalar(sa.select(COUNTS.c.n).where(COUNTS.c.name == _WAITING)) is not None
        if not is_counted:
            self._count_anew()

    def put(self, updates: Sequence[ProfileUpdate]) -> list[Outcome]:
        """Keep the updates, all or none, and return, once they are on disk, what became of each.

        Raises:
            InboxFullError: more than the limit would wait; edits of members who wait already are taken in all the same.
        """
        now = time.time()
        with self._engine.begin() as connection:
            before = _lock_count(connection)
            found = [self._put_one(connection, update, now) for update in updates]
            n_new = sum(is_new for _, is_new in found)
            if n_new and before + n_new > self._waiting_limit:
                raise InboxFullError(f"{before} updates wait, {self._waiting_limit} may: send these later")
            _add_to_count(connection, n_new)
        return [outcome for outcome, _ in found]

    def _put_one(self, connection: sa.Connection, update: ProfileUpdate, now: float) -> tuple[Outcome, bool]:
        """Return what became of an update, and whether one more waits.

        The member keeps the place of the first edit that waits: who edits again and again is not put off for ever.
        """
        if not self._is_newest(connection, update):
            known = connection.scalar(sa.select(NEWEST.c.profile_version).where(NEWEST.c.member_id == update.member_id))
            return "repeated" if known == update.profile_version else "superseded", False
        older = (UPDATES.c.member_id == update.member_id) & UPDATES.c.batch_id.is_(None)
        kept = sa.update(UPDATES).where(older).values(**vars(update), due_s=now)
        if connection.execute(kept).rowcount:
            return "accepted", False
        connection.execute(sa.insert(UPDATES).values(**vars(update), received_s=now, due_s=now))
        return "accepted", True

    def _is_newest(self, connection: sa.Connection, update: ProfileUpdate) -> bool:
        """Raise the member's highest version, unless it is as high already."""
        insert: Any = (sqlite if self._is_sqlite else postgresql).insert(NEWEST)
        row = insert.values(member_id=update.member_id, profile_version=update.profile_version)
        raised = row.on_conflict_do_update(
            index_elements=[NEWEST.c.member_id],
            set_={"profile_version": row.excluded.profile_version},
            where=NEWEST.c.profile_version < row.excluded.profile_version,
        )
        return bool(connection.execute(raised.returning(NEWEST.c.member_id)).first())

    def take(self, limit: int) -> Batch | None:
        """Return the batch that was taken and is not finished, else take the oldest updates; None where none waits."""
        with self._engine.begin() as connection:
            taken = sa.select(UPDATES.c.batch_id).where(UPDATES.c.batch_id.is_not(None))
            batch_id: str | None = connection.scalar(taken.order_by(UPDATES.c.id).limit(1))
            if batch_id is None:
                batch_id = self._take_new(connection, limit)
            if batch_id is None:
                return None
            of_batch = sa.select(UPDATES).where(UPDATES.c.batch_id == batch_id).order_by(UPDATES.c.id)
            rows = connection.execute(of_batch).all()
        updates = tuple(
            ProfileUpdate(member_id=row.member_id, profile_version=row.profile_version, profile_text=row.profile_text)
            for row in rows
        )
        return Batch(batch_id=batch_id, updates=updates, received_s=tuple(row.received_s for row in rows))

    def _take_new(self, connection: sa.Connection, limit: int) -> str | None:
        _lock_count(connection)
        is_due = UPDATES.c.batch_id.is_(None) & (UPDATES.c.due_s <= time.time())
        waiting = sa.select(UPDATES.c.id).where(is_due)
        ids = connection.scalars(waiting.order_by(UPDATES.c.id).limit(limit).with_for_update()).all()
        if not ids:
            return None
        batch_id = f"updates-{uuid.uuid4()}"
        _add_to_count(connection, -len(ids))
        connection.execute(sa.update(UPDATES).where(UPDATES.c.id.in_(ids)).values(batch_id=batch_id))
        return batch_id

    def finish(self, batch_id: str) -> None:
        """Take the updates of a batch out of the inbox; their texts are overwritten."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(UPDATES).where(UPDATES.c.batch_id == batch_id))

    def put_back(self, batch_id: str, member_ids: Collection[str], *, for_s: float) -> None:
        """Let members of a batch wait for some time, but for those of whom a newer edit waits already."""
        of_members = (UPDATES.c.batch_id == batch_id) & UPDATES.c.member_id.in_(member_ids)
        known = sa.select(NEWEST.c.profile_version).where(NEWEST.c.member_id == UPDATES.c.member_id)
        with self._engine.begin() as connection:
            _lock_count(connection)
            connection.execute(
                sa.delete(UPDATES).where(of_members & (UPDATES.c.profile_version < known.scalar_subquery()))
            )
            later = {"batch_id": None, "due_s": time.time() + for_s}
            _add_to_count(connection, connection.execute(sa.update(UPDATES).where(of_members).values(later)).rowcount)

    def knows(self, member_id: str) -> bool:
        """Whether an update of the member ever came."""
        with self._reading.connect() as connection:
            return connection.scalar(sa.select(NEWEST.c.member_id).where(NEWEST.c.member_id == member_id)) is not None

    def forget(self, member_id: str) -> int:
        """Remove all that is kept of a member, on disk too; return how many updates there were."""
        with self._engine.begin() as connection:
            _lock_count(connection)
            of_member = UPDATES.c.member_id == member_id
            n_waited = connection.execute(sa.delete(UPDATES).where(of_member & UPDATES.c.batch_id.is_(None))).rowcount
            _add_to_count(connection, -n_waited)
            n_updates = n_waited + connection.execute(sa.delete(UPDATES).where(of_member)).rowcount
            connection.execute(sa.delete(NEWEST).where(NEWEST.c.member_id == member_id))
        if self._is_sqlite:
            self._empty_log()
        return int(n_updates)

    def _empty_log(self) -> None:
        """Empty SQLite's write-ahead log, which holds pages as they were."""
        connection = self._engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()

    def figures(self) -> InboxFigures:
        """Say what lies in the inbox, from a counter and the indexes."""
        with self._reading.connect() as connection:
            waiting = connection.scalar(sa.select(COUNTS.c.n).where(COUNTS.c.name == _WAITING))
            taken = connection.scalar(sa.select(sa.func.count()).where(UPDATES.c.batch_id.is_not(None)))
            oldest_s = connection.scalar(sa.select(sa.func.min(UPDATES.c.received_s)))
        return InboxFigures(waiting=int(waiting or 0), taken=int(taken or 0), oldest_s=oldest_s)

    def _count_anew(self) -> None:
        """Set the counter to what waits."""
        n_waiting = sa.select(sa.func.count()).where(UPDATES.c.batch_id.is_(None)).scalar_subquery()
        with self._engine.begin() as connection:
            if connection.execute(sa.update(COUNTS).values(n=n_waiting)).rowcount == 0:
                connection.execute(sa.insert(COUNTS).values(name=_WAITING, n=n_waiting))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other workers from this inbox while the block runs, also where this process is killed.

        Raises:
            MissingRequirementError: another worker has it.
        """
        with ExitStack() as held:
            if not (self._lock_file(held) if self._is_sqlite else self._lock_database(held)):
                raise MissingRequirementError(
                    "Another `semlabel updates serve` works on this inbox: end that one first."
                )
            self._count_anew()
            yield

    def _lock_file(self, held: ExitStack) -> bool:
        """Hold a lock that the system gives back when this process ends, however it does."""
        descriptor = os.open(f"{self._engine.url.database}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        held.callback(os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _lock_database(self, held: ExitStack) -> bool:
        """Hold a lock of PostgreSQL's for as long as a connection lasts, which is closed and not kept for others."""
        connection = held.enter_context(self._engine.connect())
        connection.detach()
        return bool(connection.scalar(sa.select(sa.func.pg_try_advisory_lock(_LOCK))))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def inbox_file(settings: Settings) -> Path:
    """Where the SQLite inbox lies."""
    return settings.home / "updates" / "inbox.db"


def inbox_is_there(settings: Settings) -> bool:
    """Whether there may be an inbox: one in a database is taken for there."""
    return bool(settings.updates_inbox) or inbox_file(settings).exists()


def open_inbox(settings: Settings) -> Inbox:
    """Open the inbox of the settings, made on first use."""
    if settings.updates_inbox:
        return Inbox(settings.updates_inbox, waiting_limit=settings.updates_waiting_limit)
    file = inbox_file(settings)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)  # it holds profile texts
    return Inbox(f"sqlite:///{file.resolve()}", waiting_limit=settings.updates_waiting_limit)


def _lock_count(connection: sa.Connection) -> int:
    """Return how many wait, and keep others from changing it until the transaction ends; before any other lock."""
    return int(connection.scalar(sa.select(COUNTS.c.n).where(COUNTS.c.name == _WAITING).with_for_update()) or 0)


def _add_to_count(connection: sa.Connection, n: int) -> None:
    connection.execute(sa.update(COUNTS).where(COUNTS.c.name == _WAITING).values(n=COUNTS.c.n + n))
