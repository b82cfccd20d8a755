"""How the candidates of members differ from those that their labels stand on, where only the catalog differs.

Grows with the candidates of those members, twice; reads both catalogs.
"""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.catalog_changes import changed_entries
from jobs.errors import MissingRequirementError
from jobs.pins import Pins
from jobs.table_reader import literal, pins_of, query, runs_with_rows
from jobs.tables import read
from schemas.candidates import CANDIDATES
from schemas.scope import SCOPE

MOVES = ("added", "text_changed", "retired", "removed", "came_in", "dropped_out", "moved")
_MOVES_SCHEMA = "member_id string, " + ", ".join(f"{name} int" for name in MOVES)
_BESIDE_THE_CATALOG = ("incomplete", "profile_changed", "retrieval_changed")


def candidate_moves(spark: SparkSession, root: Path, pins: Pins) -> DataFrame:
    """Return (member_id, *MOVES) of the members whom only the catalog may have moved; see `rules.reasons`."""
    changes = _changes_since(root, pins)
    if not changes:
        return spark.createDataFrame([], _MOVES_SCHEMA)
    entries = spark.createDataFrame(
        [(run_id, *entry) for run_id, found in changes.items() for entry in found],
        "then_run_id string, qualification_id string, change string",
    )
    members = read(spark, root, SCOPE, run_id=pins.run_id).where(_is_about_the_catalog())
    members = members.where(F.col("stands_run_id").isin(*changes)).select(
        "member_id", F.col("stands_run_id").alias("then_run_id")
    )
    every = read(spark, root, CANDIDATES)
    now = every.where(F.col("run_id") == pins.run_id).join(members, "member_id").select(*_PAIR)
    then = every.where(F.col("run_id").isin(*changes)).withColumnRenamed("run_id", "then_run_id")
    return to_moves(now, then.join(members, ["then_run_id", "member_id"], "left_semi").select(*_PAIR), entries)


def to_moves(now: DataFrame, then: DataFrame, changes: DataFrame) -> DataFrame:
    """Count each member's moves.

    Args:
        now, then: (then_run_id, member_id, qualification_id) of the members' candidates.
        changes: (then_run_id, qualification_id, change), the entries that differ since that run.
    """
    sides = now.withColumn("is_now", F.lit(True)).join(then.withColumn("was_then", F.lit(True)), list(_PAIR), "full")
    known = sides.join(F.broadcast(changes), ["then_run_id", "qualification_id"], "left")
    is_now, was_then = F.col("is_now").isNotNull(), F.col("was_then").isNotNull()
    counts: dict[str, Column] = {
        "added": is_now & (F.col("change") == "added"),
        "text_changed": F.col("change") == "text_changed",
        "retired": was_then & (F.col("change") == "retired"),
        "removed": was_then & (F.col("change") == "removed"),
        "came_in": is_now & ~was_then,
        "dropped_out": was_then & ~is_now,
        "moved": F.col("change").isNull() & (is_now != was_then),
    }
    return known.groupBy("member_id").agg(*(F.count_if(counts[name]).cast("int").alias(name) for name in MOVES))


_PAIR = ("then_run_id", "member_id", "qualification_id")


def _is_about_the_catalog() -> Column:
    beside = F.array(*(F.lit(reason) for reason in _BESIDE_THE_CATALOG))
    return F.array_contains("reasons", "catalog_changed") & ~F.arrays_overlap("reasons", beside)


def _changes_since(root: Path, pins: Pins) -> dict[str, list[tuple[str, str]]]:
    """Return (qualification_id, change) of each run that labels stand on with another catalog that can still be read.

    Of an entry that differs in several ways the first counts: a category moves nothing.
    """
    sql = f"SELECT DISTINCT stands_run_id AS run_id FROM scope WHERE run_id = {literal(pins.run_id)}"
    kept = runs_with_rows(root, CANDIDATES)
    changes: dict[str, list[tuple[str, str]]] = {}
    for run_id in sorted({row["run_id"] for row in query(root, sql, SCOPE)} & kept):
        then = pins_of(root, run_id)
        if then.catalog_version == pins.catalog_version:
            continue
        try:
            entries = changed_entries(root, then.catalog_delta_version, pins.catalog_delta_version)
        except MissingRequirementError:
            continue
        changes[then.run_id] = [
            (entry.qualification_id, entry.changes[0]) for entry in entries if entry.changes != ("category_changed",)
        ]
    return changes
