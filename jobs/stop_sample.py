"""Who of a run goes on past the stop, so that it is known what early stopping costs.

Drawn by a hash of run and member: every attempt draws the same members, and each run others. Their further rounds are
rows of their own (`is_past_stop`) in `member_rounds` and `round_outcomes`, which nothing that is published reads; their
judgments are facts like any other.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.pins import Pins
from jobs.scope import members_in_scope, n_in_scope

UP_TO_THE_STOP = "is_past_stop IS NOT TRUE"
"""The rounds that count, as a condition on `member_rounds` and `round_outcomes`."""


def sample_size(root: Path, pins: Pins) -> int:
    """Return how many members of the run are drawn; without Spark."""
    return pins.stop_sample.size(n_in_scope(root, pins.run_id))


def sampled_members(spark: SparkSession, root: Path, pins: Pins) -> DataFrame:
    """Return the members (member_id) of the sample: those of the scope with the least hashes.

    Hashes the scope once; the members drawn pass through the driver's memory.
    """
    return drawn_by_hash(members_in_scope(spark, root, pins.run_id), pins.run_id, sample_size(root, pins))


def drawn_by_hash(members: DataFrame, run_id: str, n: int) -> DataFrame:
    """Return the n members (member_id) with the least SHA-256 of run and member id."""
    hashed = F.sha2(F.concat(F.lit(f"{run_id}:"), "member_id"), 256)
    return members.orderBy(hashed, "member_id").limit(n).select("member_id")
