"""Read and write the Delta tables of one root, through SQL and DataFrames only.

Every write is checked against its schema file first. Two kinds of write exist: `append` under a transaction id (a
second one with the same id does nothing) and `replace` of the rows of one run. `labels` has its own (publish_labels).
"""

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.errors import MissingRequirementError, SchemaError
from jobs.table_path import table_exists, table_path
from schemas.table import Table

# Ray, DuckDB and delta-rs read these tables and know neither feature.
COMMON_PROPERTIES = {"delta.enableDeletionVectors": "false"}


def create_missing(root: Path, *tables: Table) -> None:
    """Create the tables that are not there yet. Safe to race: the first one wins."""
    for table in tables:
        if not table_exists(root, table):
            (root / table.name).mkdir(parents=True, exist_ok=True)
            DeltaTable.create(
                table_path(root, table),
                table.columns,
                mode="ignore",
                partition_by=list(table.partition_by),
                name=table.name,
                configuration=COMMON_PROPERTIES | table.properties,
            )


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
        _require_columns(table, pa.schema(DeltaTable(table_path(root, table)).schema().to_arrow()))


def _require_columns(table: Table, found: pa.Schema) -> None:
    faults = []
    for column in table.columns:
        if column.name not in found.names:
            faults.append(f"column {column.name} ({column.type}) is missing")
        elif not _same_type(found.field(column.name).type, column.type):
            faults.append(f"column {column.name} is {found.field(column.name).type}, expected {column.type}")
    if faults:
        raise SchemaError(f"table {table.name}", faults)


def _same_type(found: pa.DataType, expected: pa.DataType) -> bool:
    return from_arrow_schema(pa.schema([("c", found)])) == from_arrow_schema(pa.schema([("c", expected)]))


def current_version(root: Path, table: Table) -> int:
    """Return the Delta version that a reader would see now."""
    return DeltaTable(table_path(root, table)).version()


def read(spark: SparkSession, root: Path, table: Table, *, version: int | None = None, **where: object) -> DataFrame:
    """Return the rows of a table, at a pinned version where one is given, with `column = value` for each `where`."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    rows = reader.load(table_path(root, table))
    for column, value in where.items():
        rows = rows.where(F.col(column) == F.lit(value))
    return rows


def check(rows: DataFrame, table: Table) -> DataFrame:
    """Return exactly the table's columns, in order.

    Raises:
        SchemaError: lists every column that is missing or has another type.
    """
    expected = from_arrow_schema(table.columns)
    found = {field.name: field.dataType for field in rows.schema}
    faults = [
        f"column {field.name} is {found[field.name].simpleString() if field.name in found else 'missing'}, "
        f"expected {field.dataType.simpleString()}"
        for field in expected
        if field.name not in found or found[field.name].simpleString() != field.dataType.simpleString()
    ]
    if faults:
        raise SchemaError(f"rows for {table.name}", faults)
    return rows.select(*expected.fieldNames())


def append(rows: DataFrame, root: Path, table: Table, *, transaction: str) -> None:
    """Append rows once: a second append with the same transaction id does nothing."""
    writer = check(rows, table).write.format("delta").mode("append")
    writer.option("txnAppId", transaction).option("txnVersion", 1).save(table_path(root, table))


def replace(rows: DataFrame, root: Path, table: Table, **where: object) -> None:
    """Write the rows of one partition, in place of whatever an earlier attempt left there."""
    condition = " AND ".join(f"{column} = {_literal(value)}" for column, value in where.items())
    writer = check(rows, table).write.format("delta").mode("overwrite").option("replaceWhere", condition)
    writer.save(table_path(root, table))


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "\\'") + "'"
