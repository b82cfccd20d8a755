"""Where a table is, and whether it is there; needs neither Spark nor a session."""

from pathlib import Path

from deltalake import DeltaTable

from schemas.table import Table


def table_path(root: Path, table: Table) -> str:
    """Return the folder of a table."""
    return str(root / table.name)


def table_exists(root: Path, table: Table) -> bool:
    """Whether the table has been created under this root."""
    return DeltaTable.is_deltatable(table_path(root, table))
