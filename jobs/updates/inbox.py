"""The durable inbox: an update is on disk before it is acknowledged, and stays until its batch is done.

Of one member the highest `profile_version` wins, whatever order edits come in: the highest one ever taken in is kept,
so that an older edit is refused also after the newer one has left the inbox. A batch that was taken stands in the inbox
with its id; a worker that died takes the same batch again. SQLite (one file, WAL, every commit synced) or a PostgreSQL
by its URL, through the same statements. Grows with the updates that wait, and by an id and a number a member for good.
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

from jobs.errors import MissingRequirementError
from jobs.settings import Settings
from jobs.updates.update import ProfileUpdate

Outcome = Literal["accepted", "superseded", "repeated"]
"""What became of an update: it waits; a newer one is known; the same version is known, and the first of them holds."""

_LOCK = 7_366_001  # of PostgreSQL's advisory locks, which are numbers

_metadata = sa.MetaData()
_updates = sa.Table(
    "semlabel_updates",
    _metadata,
    sa.Column(
        "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True
    ),  # the order in which updates came
    sa.Column("member_id", sa.Text, nullable=False, index=True),
    sa.Column("profile_version", sa.BigInteger, nullable=False),
    sa.Column("profile_text", sa.Text),  # null: the member was removed
    sa.Column("received_s", sa.Float, nullable=False),  # since 1970, UTC
    sa.Column("due_s", sa.Float, nullable=False),  # not taken before
    sa.Column("batch_id", sa.Text, index=True),  # null: it waits
)
_newest = sa.Table(
    "semlabel_newest_updates",
    _metadata,
    sa.Column("member_id", sa.Text, primary_key=True),
    sa.Column("profile_version", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The updates that one run works on, one a member.

    Attributes:
        batch_id: the trigger of the run, so that a batch taken twice is one run.
        received_s: of each update, seconds since 1970.
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
    """Updates that wait, and those that a batch has taken."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(url, pool_pre_ping=True)
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        if self._is_sqlite:
            sa.event.listen(self._engine, "connect", _prepare_sqlite)
            sa.event.listen(self._engine, "begin", _begin_at_once)
        _metadata.create_all(self._engine)

    def put(self, updates: Sequence[ProfileUpdate]) -> list[Outcome]:
        """Keep the updates and return, once they are on disk, what became of each."""
        now = time.time()
        with self._engine.begin() as connection:
            return [self._put_one(connection, update, now) for update in updates]

    def _put_one(self, connection: sa.Connection, update: ProfileUpdate, now: float) -> Outcome:
        if not self._is_newest(connection, update):
            known = connection.scalar(
                sa.select(_newest.c.profile_version).where(_newest.c.member_id == update.member_id)
            )
            return "repeated" if known == update.profile_version else "superseded"
        older = (_updates.c.member_id == update.member_id) & _updates.c.batch_id.is_(None)
        connection.execute(sa.delete(_updates).where(older))
        connection.execute(sa.insert(_updates).values(**vars(update), received_s=now, due_s=now))
        return "accepted"

    def _is_newest(self, connection: sa.Connection, update: ProfileUpdate) -> bool:
        """Raise the member's highest version, unless it is as high already."""
        insert: Any = (sqlite if self._is_sqlite else postgresql).insert(_newest)
        row = insert.values(member_id=update.member_id, profile_version=update.profile_version)
        raised = row.on_conflict_do_update(
            index_elements=[_newest.c.member_id],
            set_={"profile_version": row.excluded.profile_version},
            where=_newest.c.profile_version < row.excluded.profile_version,
        )
        return bool(connection.execute(raised.returning(_newest.c.member_id)).first())

    def take(self, limit: int) -> Batch | None:
        """Return the batch that was taken and is not finished, else take the oldest updates; None where none waits."""
        with self._engine.begin() as connection:
            taken = sa.select(_updates.c.batch_id).where(_updates.c.batch_id.is_not(None))
            batch_id: str | None = connection.scalar(taken.order_by(_updates.c.id).limit(1))
            if batch_id is None:
                batch_id = self._take_new(connection, limit)
            if batch_id is None:
                return None
            of_batch = sa.select(_updates).where(_updates.c.batch_id == batch_id).order_by(_updates.c.id)
            rows = connection.execute(of_batch).all()
        updates = tuple(
            ProfileUpdate(member_id=row.member_id, profile_version=row.profile_version, profile_text=row.profile_text)
            for row in rows
        )
        return Batch(batch_id=batch_id, updates=updates, received_s=tuple(row.received_s for row in rows))

    def _take_new(self, connection: sa.Connection, limit: int) -> str | None:
        is_due = _updates.c.batch_id.is_(None) & (_updates.c.due_s <= time.time())
        waiting = sa.select(_updates.c.id).where(is_due)
        ids = connection.scalars(waiting.order_by(_updates.c.id).limit(limit).with_for_update()).all()
        if not ids:
            return None
        batch_id = f"updates-{uuid.uuid4()}"
        connection.execute(sa.update(_updates).where(_updates.c.id.in_(ids)).values(batch_id=batch_id))
        return batch_id

    def finish(self, batch_id: str) -> None:
        """Take the updates of a batch out of the inbox; their texts are overwritten."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(_updates).where(_updates.c.batch_id == batch_id))

    def put_back(self, batch_id: str, member_ids: Collection[str], *, for_s: float) -> None:
        """Let members of a batch wait for some time, but for those of whom a newer edit waits already."""
        of_members = (_updates.c.batch_id == batch_id) & _updates.c.member_id.in_(member_ids)
        newest = sa.select(_newest.c.profile_version).where(_newest.c.member_id == _updates.c.member_id)
        with self._engine.begin() as connection:
            connection.execute(
                sa.delete(_updates).where(of_members & (_updates.c.profile_version < newest.scalar_subquery()))
            )
            later = {"batch_id": None, "due_s": time.time() + for_s}
            connection.execute(sa.update(_updates).where(of_members).values(later))

    def knows(self, member_id: str) -> bool:
        """Whether an update of the member ever came."""
        with self._engine.connect() as connection:
            return connection.scalar(sa.select(_newest.c.member_id).where(_newest.c.member_id == member_id)) is not None

    def forget(self, member_id: str) -> int:
        """Remove all that is kept of a member, on disk too; return how many updates there were."""
        with self._engine.begin() as connection:
            n_updates = connection.execute(sa.delete(_updates).where(_updates.c.member_id == member_id)).rowcount
            connection.execute(sa.delete(_newest).where(_newest.c.member_id == member_id))
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
        """Count what lies in the inbox."""
        counts = sa.select(sa.func.count(), sa.func.count(_updates.c.batch_id), sa.func.min(_updates.c.received_s))
        with self._engine.connect() as connection:
            n_updates, taken, oldest_s = connection.execute(counts.select_from(_updates)).one()
        return InboxFigures(waiting=n_updates - taken, taken=taken, oldest_s=oldest_s)

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
        return Inbox(settings.updates_inbox)
    file = inbox_file(settings)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)  # it holds profile texts
    return Inbox(f"sqlite:///{file.resolve()}")


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_at_once`, not by the driver
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_at_once(connection: sa.Connection) -> None:
    """Take the write lock first: of two writers that had both read, one could not go on."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
