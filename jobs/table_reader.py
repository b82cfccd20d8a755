"""Answer a question over the tables in a second, without Spark: delta-rs and its SQL engine.

For commands that a person waits for (`runs`, `audit`) and for jobs that may not import Spark.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from jobs.errors import MissingRequirementError
from jobs.open_tables import open_table
from jobs.pins import PINNED, Pins
from jobs.table_path import table_exists, table_path
from jobs.table_version import file_paths, open_version
from schemas.runs import RUNS
from schemas.table import Table

_READER_OF_FEATURES = 3  # from this protocol version on, a table names what a reader must know
_NOT_PLAIN = {"columnMapping", "deletionVectors"}


def query(root: Path, sql: str, *tables: Table, versions: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    """Run SQL over tables, each under its own name, and return the rows.

    Args:
        versions: Delta version by table name; a table without one is read as it is now.
    Raises:
        MissingVersionError: a version can't be read any more.
        MissingRequirementError: names every table that is missing.
    """
    missing = [table.name for table in tables if not table_exists(root, table)]
    if missing:
        raise MissingRequirementError(
            f"No table {', '.join(missing)} under {root}: no run has made it yet. Start one with "
            "`semlabel refresh weekly_full`, or set SEMLABEL_TABLE_ROOT."
        )
    builder = QueryBuilder()
    for table in tables:
        builder.register(table.name, _opened(root, table, (versions or {}).get(table.name)))
    return list(pa.table(builder.execute(sql).read_all()).to_pylist())


def _opened(root: Path, table: Table, version: int | None) -> DeltaTable:
    return DeltaTable(table_path(root, table)) if version is None else open_version(root, table, version)


def runs_with_rows(root: Path, table: Table) -> set[str]:
    """Return the runs that have rows in a table that is partitioned by run, from its log alone."""
    return {partition["run_id"] for partition in DeltaTable(table_path(root, table)).partitions()}


def data_files(root: Path, table: Table, *, version: int | None = None, **where: object) -> list[str] | None:
    """Return the files of a version of a table that may hold rows with `column = value`, from its log alone.

    None where a file's rows are not the table's (deletion vectors, column mapping): upstream may write such tables.

    Raises:
        MissingVersionError: the version can't be read any more.
    """
    delta = _opened(root, table, version)
    if not _has_plain_files(delta):
        return None
    equal = [(column, "=", value) for column, value in where.items()]
    return file_paths(delta.file_uris(file_pruning_predicate=equal or None))


def _has_plain_files(delta: DeltaTable) -> bool:
    protocol = delta.protocol()
    if protocol.min_reader_version < _READER_OF_FEATURES:
        return protocol.min_reader_version == 1  # 2 is column mapping
    return _NOT_PLAIN.isdisjoint(protocol.reader_features or ())


def literal(value: str) -> str:
    """Quote a text for SQL."""
    return "'" + value.replace("'", "''") + "'"


def pins_of(root: Path, run_id: str) -> Pins:
    """Return what a run pinned, without Spark.

    Raises:
        MissingRequirementError: there is no such run.
    """
    sql = f"SELECT payload FROM runs WHERE run_id = {literal(run_id)} AND event = '{PINNED}' ORDER BY attempt LIMIT 1"
    rows = query(root, sql, RUNS)
    if not rows:
        raise MissingRequirementError(f"No run {run_id!r} in {root}: `semlabel runs` lists them.")
    return Pins(**json.loads(rows[0]["payload"]))


class Reader:
    """Rows of the tables of one root, each table opened once: one answer is of one state of each table.

    A table that no run has made yet has no rows.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._builder = QueryBuilder()
        self._found: dict[str, bool] = {}

    def rows(self, sql: str, *tables: Table) -> list[dict[str, Any]]:
        """Run SQL over the tables, each under its own name."""
        if not all(self.has(table) for table in tables):
            return []
        return list(pa.table(self._builder.execute(sql).read_all()).to_pylist())

    def one(self, sql: str, *tables: Table) -> dict[str, Any] | None:
        """Return the first row, or None."""
        return next(iter(self.rows(sql, *tables)), None)

    def has(self, table: Table) -> bool:
        """Whether the table is there; opens it."""
        if table.name not in self._found:
            self._found[table.name] = table_exists(self.root, table)
            if self._found[table.name]:
                self._builder.register(table.name, open_table(table_path(self.root, table)))
        return self._found[table.name]


def equals(**values: str) -> str:
    """Return the condition that columns have these texts."""
    return " AND ".join(f"{name} = {literal(value)}" for name, value in values.items())


def is_in(column: str, values: set[str]) -> str:
    """Return the condition that a column has one of these texts."""
    return f"{column} IN ({', '.join(literal(value) for value in sorted(values))})" if values else "false"
