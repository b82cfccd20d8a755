"""Rows of the tables of one root, each table opened once: one answer is of one state of each table."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from jobs.table_path import table_exists, table_path
from jobs.table_reader import literal
from schemas.table import Table


class Reader:
    """Reads by delta-rs; a table that no run has made yet has no rows.

    Opening a table replays its log, which takes longer than to find a member's rows in it.
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
                self._builder.register(table.name, DeltaTable(table_path(self.root, table)))
        return self._found[table.name]


def equals(**values: str) -> str:
    """Return the condition that columns have these texts."""
    return " AND ".join(f"{name} = {literal(value)}" for name, value in values.items())


def is_in(column: str, values: set[str]) -> str:
    """Return the condition that a column has one of these texts."""
    return f"{column} IN ({', '.join(literal(value) for value in sorted(values))})" if values else "false"
