"""Say which members are in scope and why, and how much the run may cost at most, before anything is spent.

A weekly full refresh looks at every member again; the reasons say what a comparison with the published coverage found.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.coverage import latest_coverage
from jobs.inputs import usable_profiles, with_profile_hash
from jobs.pins import Pins
from jobs.settings import Settings
from jobs.table_reader import pins_of
from jobs.tables import read
from schemas.labels import LABELS
from schemas.profiles import PROFILES


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run to plan."""

    run_id: str


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Count the members in scope by reason, and the pairs at most."""
    root = settings.tables
    pins = pins_of(root, params.run_id)
    profiles = with_profile_hash(read(spark, root, PROFILES, version=pins.profiles_delta_version))
    in_scope = scope(usable_profiles(profiles), latest_coverage(spark, root), pins)
    reasons = {row.reason: row["count"] for row in in_scope.groupBy("reason").count().collect()}
    gone = read(spark, root, LABELS).select("member_id").distinct().join(profiles, "member_id", "left_anti")
    members = sum(reasons.values())
    return {
        "members": members,
        "reasons": reasons,
        "members_removed": gone.count(),
        "pairs_at_most": members * pins.candidates_per_member,
    }


def scope(profiles: DataFrame, covered: DataFrame, pins: Pins) -> DataFrame:
    """Return (member_id, reason) of every usable profile; the first reason that holds.

    Args:
        covered: each member's latest published coverage.
    """
    before = covered.select("member_id", *(F.col(name).alias(f"before_{name}") for name in _COMPARED))
    return profiles.join(before, "member_id", "left").select("member_id", _reason(pins).alias("reason"))


_COMPARED = ("profile_hash", "catalog_version", "artifact_id", "retriever_id", "candidates_per_member")


def _reason(pins: Pins) -> Column:
    retrieval_differs = (F.col("before_retriever_id") != pins.retriever_id) | (
        F.col("before_candidates_per_member") != pins.candidates_per_member
    )
    return (
        F.when(F.col("before_profile_hash").isNull(), "first_time")
        .when(F.col("before_profile_hash") != F.col("profile_hash"), "profile_changed")
        .when(F.col("before_catalog_version") != pins.catalog_version, "catalog_changed")
        .when(F.col("before_artifact_id") != pins.artifact_id, "artifact_changed")
        .when(retrieval_differs, "retrieval_changed")
        .otherwise("unchanged")
    )
