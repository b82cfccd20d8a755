"""Which members a run looks at, and why: `jobs.rules.scope` as columns, over all profiles and published coverage."""

from collections.abc import Collection, Sequence
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
    revoked: DataFrame,
    holds: Sequence[Hold] = (),
    retired_since: Collection[int] = (),
    runs_with_candidates: Collection[str] = (),
) -> DataFrame:
    """Return the members that the run looks at, with the columns of `scope` but for run_id.

    Args:
        profiles: `inputs.current_profiles` of the pinned version.
        published: `coverage.published_coverage`.
        revoked: `revoked_members.revoked_members`.
        holds: those that stand.
        retired_since: versions of `catalog` since which entries were only retired or removed.
        runs_with_candidates: whose candidates are still there.
    """
    present = profiles.withColumn("is_present", F.lit(True))
    marked = published.join(revoked.withColumn("is_revoked", F.lit(True)), "member_id", "left")
    joined = present.join(marked, "member_id", "full").withColumn("reasons", _reasons(pins))
    free = joined.where(~is_on_hold(F.col("is_present").isNull(), F.col("stands.run_id"), pins, holds))
    wanted = free.where(F.get("reasons", F.lit(0)).isin(*sorted(LOOKS_AFTER[pins.kind])))
    keeps = F.coalesce(_keeps_candidates(pins, retired_since, runs_with_candidates), F.lit(False))
    return wanted.select(
        "member_id",
        F.get("reasons", F.lit(0)).alias("reason"),
        "reasons",
        "profile_version",
        "profile_hash",
        F.col("stands.run_id").alias("stands_run_id"),
        keeps.alias("keeps_candidates"),
        F.when(F.col("profile_hash").isNull(), None)
        .when(keeps, F.col("stands.retrieval_delta_version"))
        .otherwise(F.lit(pins.catalog_delta_version))
        .cast("long")
        .alias("retrieval_delta_version"),
    )


def without_erased(profiles: DataFrame, erasures: DataFrame) -> DataFrame:
    """Leave out the members who were erased, as long as the source still has their profiles."""
    erased = F.broadcast(erasures.select("member_hash").distinct())
    return profiles.join(erased, text_hash(F.col("member_id")) == erased["member_hash"], "left_anti")


def _reasons(pins: Pins) -> Column:
    """All that holds, the reason that counts first; none where nobody is concerned."""
    stands = F.col("stands").isNotNull()
    differences = F.array_compact(
        F.array(
            F.when(F.coalesce("is_revoked", F.lit(False)), "revoked"),
            F.when(F.coalesce("is_open", F.lit(False)), "incomplete"),
            F.when(~stands, "first_time"),
            F.when(F.col("stands.restored_run_id").isNotNull(), "rolled_back"),
            F.when(stands & ~F.col("profile_hash").eqNullSafe(F.col("stands.profile_hash")), "profile_changed"),
            F.when(F.col("stands.catalog_version") != pins.catalog_version, "catalog_changed"),
            F.when(F.col("stands.scorer_id") != pins.scorer_id, "scorer").when(
                F.col("stands.artifact_id") != pins.artifact_id, "threshold"
            ),
            F.when(~_retrieves_alike(pins), "retrieval_changed"),
        )
    )
    is_left = F.col("stands.profile_hash").isNotNull()
    gone = F.when(is_left, F.array(F.lit("member_removed"))).otherwise(F.array().cast("array<string>"))
    unchanged = F.array(F.lit("unchanged"))
    return F.when(F.col("is_present").isNull(), gone).otherwise(
        F.when(F.size(differences) == 0, unchanged).otherwise(differences)
    )


def _retrieves_alike(pins: Pins) -> Column:
    return (F.col("stands.retriever_id") == pins.retriever_id) & (
        F.col("stands.candidates_per_member") == pins.candidates_per_member
    )


def _keeps_candidates(pins: Pins, retired_since: Collection[int], run_ids: Collection[str]) -> Column:
    if pins.kind == "weekly_full" or not retired_since or not run_ids:
        return F.lit(False)
    beyond_entries = F.array_except("reasons", F.array(F.lit("catalog_changed"), F.lit("threshold")))
    only_went = F.col("stands.retrieval_delta_version").isin(*sorted(retired_since))
    return (F.size(beyond_entries) == 0) & only_went & F.col("stands.run_id").isin(*sorted(run_ids))


def members_in_scope(spark: SparkSession, root: Path, run_id: str) -> DataFrame:
    """Return the run's scope, but for the members who are gone: they need no work."""
    return read(spark, root, SCOPE, run_id=run_id).where("reason != 'member_removed'")


def n_in_scope(root: Path, run_id: str) -> int:
    """Count the members that need work; without Spark."""
    sql = f"SELECT count(*) AS n FROM scope WHERE run_id = {literal(run_id)} AND reason != 'member_removed'"
    return int(query(root, sql, SCOPE)[0]["n"])


def n_to_retrieve(root: Path, run_id: str) -> int:
    """Count the members in scope who keep no candidates of an earlier run; without Spark."""
    of_run = f"run_id = {literal(run_id)} AND reason != 'member_removed' AND NOT keeps_candidates"
    return int(query(root, f"SELECT count(*) AS n FROM scope WHERE {of_run}", SCOPE)[0]["n"])
