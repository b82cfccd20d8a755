"""What published runs have done for each member, and which of two runs knows the newer state of a member.

Scope and publishing both rest on this comparison, never on a watermark: a lost, doubled or late trigger changes
nothing.
"""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from jobs.ledger import PUBLISHED
from jobs.tables import read
from schemas.coverage import COVERAGE
from schemas.runs import RUNS


def latest_coverage(spark: SparkSession, root: Path) -> DataFrame:
    """Return each member's newest complete coverage among the published runs."""
    took_effect = read(spark, root, RUNS, event=PUBLISHED).select("run_id")
    published = read(spark, root, COVERAGE, is_complete=True).join(took_effect, "run_id", "left_semi")
    newest = Window.partitionBy("member_id").orderBy(F.desc("pinned_at"), F.desc("run_id"))
    return published.withColumn("_place", F.row_number().over(newest)).where("_place = 1").drop("_place")


def standing(mine: str, theirs: str) -> Column:
    """Compare a run's pins of a member with its published ones.

    Args:
        mine, theirs: aliases of two frames with the columns of `coverage`.
    Returns:
        null when mine may be published; "superseded" when theirs are newer in some part and older in none;
        "conflicting" when each is newer in some part.
    """
    order = [_profile_order(mine, theirs), _catalog_order(mine, theirs), _decision_order(mine, theirs)]
    newer = F.greatest(*order, F.lit(0)) > 0
    older = F.least(*order, F.lit(0)) < 0
    is_published = F.col(f"{theirs}.run_id").isNotNull()
    return F.when(is_published & newer & older, "conflicting").when(is_published & newer, "superseded")


def _profile_order(mine: str, theirs: str) -> Column:
    same = F.col(f"{mine}.profile_hash").eqNullSafe(F.col(f"{theirs}.profile_hash"))
    by_member = F.signum(F.col(f"{theirs}.profile_version") - F.col(f"{mine}.profile_version"))
    # a member who is gone has no version of its own, and a source may edit a text without a new version
    by_table = F.signum(F.col(f"{theirs}.profiles_delta_version") - F.col(f"{mine}.profiles_delta_version"))
    undecided = by_member.isNull() | (by_member == 0)
    return F.when(same, 0).when(undecided, by_table).otherwise(by_member).cast("int")


def _catalog_order(mine: str, theirs: str) -> Column:
    same = F.col(f"{mine}.catalog_version") == F.col(f"{theirs}.catalog_version")
    difference = F.signum(F.col(f"{theirs}.catalog_delta_version") - F.col(f"{mine}.catalog_delta_version"))
    return F.when(same, 0).otherwise(difference).cast("int")


def _decision_order(mine: str, theirs: str) -> Column:
    parts = ("artifact_id", "retriever_id", "candidates_per_member")
    same = F.lit(True)
    for part in parts:
        same = same & (F.col(f"{mine}.{part}") == F.col(f"{theirs}.{part}"))
    mine_at, theirs_at = F.col(f"{mine}.pinned_at"), F.col(f"{theirs}.pinned_at")
    return F.when(same, 0).when(theirs_at > mine_at, 1).when(theirs_at < mine_at, -1).otherwise(0)
