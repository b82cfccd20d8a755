"""Which members a run looks at, and why: `jobs.rules.scope` as columns, over all profiles and published coverage."""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.on_hold import is_on_hold
from jobs.pins import Pins
from jobs.rendering import text_hash
from jobs.rules.hold import Hold
from jobs.rules.scope import LOOKS_AFTER
from jobs.table_reader import literal, query
from jobs.tables import read
from schemas.scope import SCOPE


def to_scope(
    profiles: DataFrame,
    published: DataFrame,
    pins: Pins,
    *,
    n_entries: int,
    revoked: DataFrame,
    holds: Sequence[Hold] = (),
) -> DataFrame:
    """Return the members that the run looks at, with the columns of `scope` but for run_id.

    Args:
        profiles: `inputs.current_profiles` of the pinned version.
        published: `coverage.published_coverage`.
        n_entries: active entries of the catalog, fewer of which than K may be proposed.
        revoked: `revoked_members.revoked_members`.
        holds: those that stand.
    """
    present = profiles.withColumn("is_present", F.lit(True))
    marked = published.join(revoked.withColumn("is_revoked", F.lit(True)), "member_id", "left")
    joined = present.join(marked, "member_id", "full").withColumn("reason", _reason(pins))
    free = joined.where(~is_on_hold(F.col("is_present").isNull(), F.col("stands.run_id"), pins, holds))
    wanted = free.where(F.col("reason").isin(*sorted(LOOKS_AFTER[pins.kind])))
    at_most = _new_pairs_at_most(pins, n_entries).cast("int").alias("pairs_at_most")
    return wanted.select("member_id", "reason", "profile_version", "profile_hash", at_most)


def without_erased(profiles: DataFrame, erasures: DataFrame) -> DataFrame:
    """Leave out the members who were erased, as long as the source still has their profiles."""
    erased = F.broadcast(erasures.select("member_hash").distinct())
    return profiles.join(erased, text_hash(F.col("member_id")) == erased["member_hash"], "left_anti")


def _reason(pins: Pins) -> Column:
    is_left = F.col("stands.profile_hash").isNotNull()
    difference = (
        F.when(_is_revoked(), "revoked")
        .when(F.coalesce("is_open", F.lit(False)), "incomplete")
        .when(F.col("stands").isNull(), "first_time")
        .when(F.col("stands.restored_run_id").isNotNull(), "rolled_back")
        .when(~_has_the_same_profile(), "profile_changed")
        .when(F.col("stands.catalog_version") != pins.catalog_version, "catalog_changed")
        .when(F.col("stands.artifact_id") != pins.artifact_id, "artifact_changed")
        .when(~_retrieves_alike(pins), "retrieval_changed")
        .otherwise("unchanged")
    )
    return F.when(F.col("is_present").isNull(), F.when(is_left, "member_removed")).otherwise(difference)


def _is_revoked() -> Column:
    return F.coalesce("is_revoked", F.lit(False))


def _has_the_same_profile() -> Column:
    return F.col("profile_hash").eqNullSafe(F.col("stands.profile_hash"))


def _retrieves_alike(pins: Pins) -> Column:
    return (F.col("stands.retriever_id") == pins.retriever_id) & (
        F.col("stands.candidates_per_member") == pins.candidates_per_member
    )


def _new_pairs_at_most(pins: Pins, n_entries: int) -> Column:
    at_most = min(pins.candidates_per_member, n_entries)
    is_open = F.coalesce("is_open", F.lit(False))
    has_the_same_pairs = (
        _has_the_same_profile()
        & (F.col("stands.catalog_version") == pins.catalog_version)
        & (F.col("stands.scorer_id") == pins.scorer_id)
        & _retrieves_alike(pins)
    )
    reuses = ~_is_revoked() & F.lit(pins.generation == 0)
    has_all = reuses & ~is_open & F.coalesce(has_the_same_pairs, F.lit(False))
    further = F.greatest(F.lit(at_most) - F.col("stands.judged"), F.lit(0))
    return (
        F.when(F.col("profile_hash").isNull(), 0)
        .when(has_all & (F.col("stands.artifact_id") == pins.artifact_id), 0)
        .when(has_all, further)
        .otherwise(at_most)
    )


def members_in_scope(spark: SparkSession, root: Path, run_id: str) -> DataFrame:
    """Return the run's scope, but for the members who are gone: they need no work."""
    return read(spark, root, SCOPE, run_id=run_id).where("reason != 'member_removed'")


def n_in_scope(root: Path, run_id: str) -> int:
    """Count the members that need work; without Spark."""
    sql = f"SELECT count(*) AS n FROM scope WHERE run_id = {literal(run_id)} AND reason != 'member_removed'"
    return int(query(root, sql, SCOPE)[0]["n"])
