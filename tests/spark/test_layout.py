"""Rows lie in their files in the order that readers of one member or hash look for them."""

from pathlib import Path

import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.table_admin import create_missing
from jobs.table_path import table_path
from jobs.tables import append, read, replace
from schemas.judgments import JUDGMENTS
from schemas.profiles import PROFILES
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.table import Table


def columns_of(root: Path, table: Table, *names: str) -> list[tuple[str, ...]]:
    """The only file's rows as they lie."""
    (file,) = DeltaTable(table_path(root, table)).file_uris()
    rows = pq.ParquetFile(file).read(list(names)).to_pylist()
    return [tuple(row[name] for name in names) for row in rows]


def test_a_file_is_written_in_the_order_that_its_schema_says(spark: SparkSession, tmp_path: Path) -> None:
    create_missing(tmp_path, JUDGMENTS, ROUND_OUTCOMES)
    numbers = spark.range(300).coalesce(1).withColumn("h", F.sha2(F.col("id").cast("string"), 256))
    judged = numbers.selectExpr(
        "'s' scorer_id", "h query_hash", "reverse(h) item_hash", "0 generation", "0.0D margin", "0.5D score",
        "false is_reference", "'{}' engine", "'run' run_id", "timestamp'2026-01-01' judged_at",
    )  # fmt: skip
    append(judged, tmp_path, JUDGMENTS, transaction="once")
    outcomes = numbers.selectExpr(
        "'run' run_id", "0 round", "h member_id", "1 judged", "1 accepted", "0 missing", "true goes_on",
        "'goes_on' reason", "false is_past_stop", "false goes_past_stop", "1 scored",
        "1 scored_accepted", "1L tokens", "0L tie_tokens",
    )  # fmt: skip
    replace(outcomes, tmp_path, ROUND_OUTCOMES, run_id="run", round=0)
    for table in (JUDGMENTS, ROUND_OUTCOMES):
        rows = columns_of(tmp_path, table, *table.sorted_by)
        assert len(rows) == 300 and rows == sorted(rows)


def test_rows_are_those_of_the_version_that_stands_when_they_are_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "a root, with=signs & blanks"
    create_missing(root, ROUND_OUTCOMES)
    assert read(spark, root, ROUND_OUTCOMES).collect() == []

    def put(round: int, *members: str) -> None:
        rows = spark.createDataFrame([(member,) for member in members], "member_id string").selectExpr(
            "'run' run_id", f"{round} round", "member_id", "1 judged", "1 accepted", "0 missing", "true goes_on",
            "'goes_on' reason", "false is_past_stop", "false goes_past_stop", "1 scored",
            "1 scored_accepted", "1L tokens", "0L tie_tokens",
        )  # fmt: skip
        replace(rows, root, ROUND_OUTCOMES, run_id="run", round=round)

    def members_of(rows: DataFrame) -> list[tuple[str, int, str]]:
        return sorted((row.run_id, row.round, row.member_id) for row in rows.collect())

    put(0, "ann", "bob")
    before = read(spark, root, ROUND_OUTCOMES, run_id="run", round=0)
    put(0, "cat")
    put(1, "ann")
    assert members_of(before) == [("run", 0, "ann"), ("run", 0, "bob")]
    assert members_of(read(spark, root, ROUND_OUTCOMES, run_id="run", round=0)) == [("run", 0, "cat")]
    assert members_of(read(spark, root, ROUND_OUTCOMES, member_id="ann")) == [("run", 1, "ann")]
    assert members_of(read(spark, root, ROUND_OUTCOMES, version=1)) == members_of(before)
    empty = read(spark, root, ROUND_OUTCOMES, run_id="another", round=0)
    assert empty.collect() == [] and empty.columns == before.columns == ROUND_OUTCOMES.columns.names
    assert empty.dtypes == before.dtypes


def test_a_table_with_deletion_vectors_is_read_without_the_rows_that_they_delete(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.createDataFrame([("ann",), ("bob",)], "member_id string").coalesce(1).selectExpr(
        "member_id", "'text' profile_text", "1L profile_version", "timestamp'2026-01-01' updated_at"
    )  # fmt: skip
    path = table_path(tmp_path, PROFILES)
    rows.write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE member_id = 'ann'")
    assert [row.member_id for row in read(spark, tmp_path, PROFILES).collect()] == ["bob"]
