"""Which data a table holds, as far as a labeler's validation is concerned; a property of the table."""

from collections.abc import Iterable
from pathlib import Path

from deltalake import DeltaTable

from jobs.table_path import table_exists, table_path
from schemas.table import Table

DOMAIN_PROPERTY = "semlabel.domain"
OWN_DATA = "own data"


def domain_of(root: Path, table: Table) -> str:
    """Return the domain that the last writer of the whole table gave it."""
    return DeltaTable(table_path(root, table)).metadata().configuration.get(DOMAIN_PROPERTY, OWN_DATA)


def own_rows(root: Path, tables: Iterable[Table]) -> dict[str, int]:
    """Return how many rows each table holds that no sample made; tables without such rows are left out."""
    own = [table for table in tables if table_exists(root, table) and domain_of(root, table) == OWN_DATA]
    counts = {table.name: DeltaTable(table_path(root, table)).count() for table in own}
    return {name: count for name, count in counts.items() if count}


def set_domain(root: Path, table: Table, domain: str) -> None:
    """Mark a table; a labeler that was evaluated on another domain runs on it as unvalidated."""
    if domain_of(root, table) != domain:
        DeltaTable(table_path(root, table)).alter.set_table_properties(
            {DOMAIN_PROPERTY: domain}, raise_if_not_exists=False
        )
