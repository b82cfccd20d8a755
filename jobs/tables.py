"""Read and write the Delta tables of one root, through SQL and DataFrames only.

Every write is checked against its schema file first. Two kinds of write exist: `append` under a transaction id (a
second one with the same id does nothing) and `replace` of the rows of one run. `labels` has its own (publish_labels).
"""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.errors import SchemaError
from jobs.table_path import table_path
from jobs.table_reader import data_files
from schemas.table import Table


def read(spark: SparkSession, root: Path, table: Table, *, version: int | None = None, **where: object) -> DataFrame:
    """Return the rows of a table with `column = value` for each `where`.

    Spark is given the files by name: of a log that delta-rs reads in milliseconds it makes a query or two of its own,
    which is most of what a small run takes.

    Args:
        version: a pinned one; None: that which stands when this is called.
    Raises:
        MissingVersionError: the version can't be read any more.
    """
    rows = _rows(spark, root, table, version, where)
    for column, value in where.items():
        rows = rows.where(F.col(column) == F.lit(value))
    return rows


def _rows(spark: SparkSession, root: Path, table: Table, version: int | None, where: Mapping[str, object]) -> DataFrame:
    path, schema = table_path(root, table), from_arrow_schema(table.columns)
    files = data_files(root, table, version=version, **where)
    if files is None:
        delta = spark.read.format("delta")
        return (delta if version is None else delta.option("versionAsOf", version)).load(path)
    if not files:
        return spark.createDataFrame(table.columns.empty_table(), schema)
    reader = spark.read.schema(schema).option("basePath", path)  # partitions are in the paths
    return reader.parquet(*files).select(*schema.fieldNames())


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
    writer = _in_order(check(rows, table), table).write.format("delta").mode("append")
    writer.option("txnAppId", transaction).option("txnVersion", 1).save(table_path(root, table))


def replace(rows: DataFrame, root: Path, table: Table, **where: object) -> None:
    """Write the rows of one partition, in place of whatever an earlier attempt left there."""
    condition = " AND ".join(f"{column} = {_literal(value)}" for column, value in where.items())
    writer = (
        _in_order(check(rows, table), table).write.format("delta").mode("overwrite").option("replaceWhere", condition)
    )
    writer.save(table_path(root, table))


def _in_order(rows: DataFrame, table: Table) -> DataFrame:
    """Sort the rows of each file; partitions first, else the writer would sort again by those alone."""
    return rows.sortWithinPartitions(*table.partition_by, *table.sorted_by) if table.sorted_by else rows


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "\\'") + "'"
