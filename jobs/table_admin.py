"""Create, check and version the Delta tables of one root; by delta-rs, without Spark."""

from pathlib import Path

from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from jobs.errors import MissingRequirementError, SchemaError
from jobs.table_path import table_exists, table_path
from schemas.table import Table

# Ray, DuckDB and delta-rs read these tables and know neither feature.
COMMON_PROPERTIES = {"delta.enableDeletionVectors": "false"}


def create_missing(root: Path, *tables: Table) -> None:
    """Create the tables that are not there yet, and the nullable columns that older code did not know.

    Safe to race: the first one wins.
    """
    for table in tables:
        if table_exists(root, table):
            _add_missing_columns(DeltaTable(table_path(root, table)), table)
        else:
            (root / table.name).mkdir(parents=True, exist_ok=True)
            DeltaTable.create(
                table_path(root, table),
                table.columns,
                mode="ignore",
                partition_by=list(table.partition_by),
                name=table.name,
                configuration=COMMON_PROPERTIES | table.properties,
            )


def _add_missing_columns(delta: DeltaTable, table: Table) -> None:
    found = {field.name for field in delta.schema().fields}
    new = [field for field in Schema.from_arrow(table.columns).fields if field.nullable and field.name not in found]
    if new:
        delta.alter.add_columns(new)


def require(root: Path, *tables: Table) -> None:
    """Refuse to start without these tables.

    Raises:
        MissingRequirementError: names every table that is missing.
        SchemaError: lists every column that is missing or has another type.
    """
    missing = [table.name for table in tables if not table_exists(root, table)]
    if missing:
        raise MissingRequirementError(
            f"No table {', '.join(missing)} under {root}. Make a sample with `semlabel sample`, load own data with "
            "`semlabel load`, or set SEMLABEL_TABLE_ROOT."
        )
    for table in tables:
        _require_columns(table, DeltaTable(table_path(root, table)))


def _require_columns(table: Table, delta: DeltaTable) -> None:
    found = {field.name: field for field in delta.schema().fields}
    faults = []
    for column in Schema.from_arrow(table.columns).fields:
        if column.name not in found:
            faults.append(f"column {column.name} ({_type_name(column)}) is missing")
        elif found[column.name].type != column.type:
            faults.append(f"column {column.name} is {_type_name(found[column.name])}, expected {_type_name(column)}")
    if faults:
        raise SchemaError(f"table {table.name}", faults)


def _type_name(column: Field) -> str:
    return column.type.type if isinstance(column.type, PrimitiveType) else column.type.to_json()


def current_version(root: Path, table: Table) -> int:
    """Return the Delta version that a reader would see now."""
    return DeltaTable(table_path(root, table)).version()
