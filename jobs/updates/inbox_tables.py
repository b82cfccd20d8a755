"""The tables of the inbox, and how SQLite keeps them: on disk with every commit, deleted texts overwritten."""

from typing import Any

import sqlalchemy as sa

READS = "semlabel_reads"
"""Execution option of connections that only read: they take no lock from who writes."""

metadata = sa.MetaData()
UPDATES = sa.Table(
    "semlabel_updates",
    metadata,
    sa.Column(
        "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True
    ),  # the order in which the first edit of each came
    sa.Column("member_id", sa.Text, nullable=False, index=True),
    sa.Column("profile_version", sa.BigInteger, nullable=False),
    sa.Column("profile_text", sa.Text),  # null: the member was removed
    sa.Column("received_s", sa.Float, nullable=False, index=True),  # of the first edit; since 1970, UTC
    sa.Column("due_s", sa.Float, nullable=False),  # not taken before
    sa.Column("batch_id", sa.Text, index=True),  # null: it waits
)
NEWEST = sa.Table(
    "semlabel_newest_updates",
    metadata,
    sa.Column("member_id", sa.Text, primary_key=True),
    sa.Column("profile_version", sa.BigInteger, nullable=False),
)
COUNTS = sa.Table(  # one row: to count what waits would look at all of it, at each update
    "semlabel_update_counts",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("n", sa.BigInteger, nullable=False),
)


def open_database(url: str) -> sa.Engine:
    """Return the database of a URL, its tables made."""
    engine = sa.create_engine(url, pool_pre_ping=True)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    metadata.create_all(engine)
    for table in metadata.tables.values():
        for index in table.indexes:  # of an earlier table
            index.create(engine, checkfirst=True)
    return engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite`, not by the driver
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    """Take the write lock first, but to read: of two writers that had both read, one could not go on."""
    reads = connection.get_execution_options().get(READS, False)
    connection.exec_driver_sql("BEGIN DEFERRED" if reads else "BEGIN IMMEDIATE")
