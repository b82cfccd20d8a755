"""Load own profiles and catalog from CSV or Parquet; every fault of the files is listed before anything is written.

A row that is merely unusable (an empty text) is loaded: runs set it aside and go on. A file whose columns or types are
wrong, or that names a row twice, is refused.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.domain import OWN_DATA, set_domain
from jobs.errors import FaultsError
from jobs.foreground_session import foreground_session
from jobs.own_files import csv_files, file_faults
from jobs.rendering import text_hash
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from jobs.tables import check
from schemas.catalog import CATALOG, CATEGORIES, STATUSES
from schemas.every import UPSTREAM_TABLES
from schemas.profiles import PROFILES
from schemas.reference import REFERENCE
from schemas.table import Table

_SHOWN = 5


def load_data(
    settings: Settings,
    *,
    profiles: Path | None,
    catalog: Path | None,
    is_upsert: bool,
    agree: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Load the files that are given, on a session of its own; see `load_files`."""
    files = {PROFILES: profiles, CATALOG: catalog}
    given = {table: path for table, path in files.items() if path is not None}
    with foreground_session(settings, "load") as spark:
        return load_files(spark, settings, given, is_upsert=is_upsert, agree=agree)


def load_files(
    spark: SparkSession,
    settings: Settings,
    files: Mapping[Table, Path],
    *,
    is_upsert: bool,
    agree: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Replace the tables by their files, or add and change rows.

    Args:
        agree: called when the files are right and nothing is written yet; it raises to leave all as it is.
    Raises:
        FaultsError: all faults of all files; nothing was written.
    """
    found = {table: file_faults(path, table) for table, path in files.items()}
    rows = {
        table: _read_file(spark, files[table], skips_misshapen=bool(faults.rows))
        for table, faults in found.items()
        if not faults.file
    }
    listed = [fault for faults in found.values() for fault in (*faults.file, *faults.rows)]
    listed += [f"{files[table]}: {fault}" for table, frame in rows.items() for fault in value_faults(frame, table)]
    if listed:
        raise FaultsError("load", listed)
    agree()
    create_missing(settings.tables, *UPSTREAM_TABLES)
    for table, frame in rows.items():
        _write(spark, settings, complete(frame, table), table, is_upsert=is_upsert)
    return {table.name: frame.count() for table, frame in rows.items()} | {"table_root": str(settings.tables)}


def _read_file(spark: SparkSession, path: Path, *, skips_misshapen: bool) -> DataFrame:
    """Read a file; rows of a wrong shape, listed before, are left out where the others' values are to be looked at."""
    if files := csv_files(path):
        mode = "DROPMALFORMED" if skips_misshapen else "FAILFAST"
        reader = spark.read.options(header=True, multiLine=True, escape='"', mode=mode, columnPruning=False)
        return reader.csv([str(file.resolve()) for file in files])
    return spark.read.parquet(str(path.resolve()))


def value_faults(rows: DataFrame, table: Table) -> list[str]:
    """Return one sentence a fault of the values, the columns being right."""
    key = table.key[0]
    checks: dict[str, Column] = {f"{key} is empty": F.col(key).isNull() | (F.trim(key) == "")}
    if table is CATALOG:
        checks[f"category is none of {', '.join(CATEGORIES)}"] = ~_is_one_of("category", CATEGORIES)
        if "status" in rows.columns:
            checks[f"status is none of {', '.join(STATUSES)}"] = ~_is_one_of("status", STATUSES)
    if "profile_version" in rows.columns:
        wrong = F.col("profile_version").isNotNull() & F.col("profile_version").try_cast("bigint").isNull()
        checks["profile_version is no whole number"] = wrong
    if "updated_at" in rows.columns:
        wrong = F.col("updated_at").isNotNull() & F.col("updated_at").try_cast("timestamp").isNull()
        checks["updated_at is no time (ISO 8601)"] = wrong
    faults = [fault for what, is_wrong in checks.items() for fault in _examples(rows.where(is_wrong), key, what)]
    doubled = rows.groupBy(key).count().where("count > 1")
    return faults + _examples(doubled, key, f"{key} stands in several rows")


def _is_one_of(column: str, values: tuple[str, ...]) -> Column:
    return F.coalesce(F.col(column).isin(*values), F.lit(False))


def _examples(rows: DataFrame, key: str, what: str) -> list[str]:
    count = rows.count()
    if count == 0:
        return []
    shown = ", ".join(repr(row[key]) for row in rows.select(key).limit(_SHOWN).collect())
    return [f"{what} in {count} row(s): {shown}"]


def complete(rows: DataFrame, table: Table) -> DataFrame:
    """Add the columns that a file may leave out, with the table's types."""
    now = F.current_timestamp()
    if table is PROFILES:
        version = F.col("profile_version") if "profile_version" in rows.columns else F.lit(None)
        updated = F.coalesce(F.col("updated_at").cast("timestamp"), now) if "updated_at" in rows.columns else now
        # seconds since 1970: grows from one load to the next where the source counts no versions
        given = F.coalesce(version.cast("bigint"), F.unix_timestamp(updated))
        rows = rows.withColumns({"updated_at": updated, "profile_version": given}).withColumn(
            "profile_hash", text_hash(F.col("profile_text"))
        )
    else:
        status = F.col("status") if "status" in rows.columns else F.lit(None).cast("string")
        rows = rows.withColumn("status", F.coalesce(status, F.lit("active")))
    return check(rows.select(*(F.col(f.name).cast(f.dataType) for f in _spark_schema(table))), table)


def _spark_schema(table: Table) -> Any:
    return from_arrow_schema(pa.schema(table.columns))


def _write(spark: SparkSession, settings: Settings, rows: DataFrame, table: Table, *, is_upsert: bool) -> None:
    path = table_path(settings.tables, table)
    if is_upsert:
        rows.createOrReplaceTempView("rows_to_load")
        same = " AND ".join(f"t.{name} = r.{name}" for name in table.key)
        spark.sql(
            f"MERGE INTO delta.`{path}` t USING rows_to_load r ON {same} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ).collect()
    else:
        rows.write.format("delta").mode("overwrite").save(path)
        empty = spark.createDataFrame([], from_arrow_schema(REFERENCE.columns))
        empty.write.format("delta").mode("overwrite").save(table_path(settings.tables, REFERENCE))
    set_domain(settings.tables, table, OWN_DATA)
