"""Read judgments the one right way: revoked ones left out, one row a key, the newest generation, then the first
committed.

A read scans two hashes and a score of every judgment of the scorer. Where few members are concerned their query hashes
go to every task and only their judgments are moved; where many are, both sides are.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from jobs.pins import Pins
from jobs.revocations import read_revocations
from jobs.rules.revocation import Revocation
from jobs.tables import read
from schemas.judgments import JUDGMENTS

FEW_QUERIES = 100_000  # 64 bytes each


def usable_judgments(spark: SparkSession, root: Path, pins: Pins, queries: DataFrame, *, n_queries: int) -> DataFrame:
    """Return one judgment for each pair of the given queries that a run may use.

    Those are of its scorer, of its generation or a later one, and were not revoked when it was pinned.

    Args:
        queries: query_hash; any number of rows a query.
        n_queries: how many there are, at most.
    """
    wanted = queries.select("query_hash").distinct()
    few = F.broadcast(wanted) if n_queries <= FEW_QUERIES else wanted
    revocations = read_revocations(root, as_of=datetime.fromisoformat(pins.pinned_at))
    known = read(spark, root, JUDGMENTS, scorer_id=pins.scorer_id).where(F.col("generation") >= pins.generation)
    return one_a_key(known.where(withdrawn_at(revocations).isNull()).join(few, "query_hash", "left_semi"))


def one_a_key(judgments: DataFrame) -> DataFrame:
    """Keep the newest generation of a pair and, in it, the first committed; two runs may have scored it at once."""
    order = Window.partitionBy("scorer_id", "query_hash", "item_hash").orderBy(
        F.desc("generation"), "judged_at", "run_id"
    )
    return judgments.withColumn("_place", F.row_number().over(order)).where("_place = 1").drop("_place")


def withdrawn_at(revocations: Sequence[Revocation]) -> Column:
    """When a judgment was last revoked, as `jobs.rules.revocation.withdrawn_at` says; null where it may be used."""
    never = F.lit(None).cast("timestamp")
    return F.greatest(never, never, *(F.when(fits(one), F.lit(one.at)) for one in revocations))


def fits(one: Revocation) -> Column:
    """Whether a revocation withdraws a judgment."""
    condition = F.col("judged_at") <= F.lit(one.until)
    if one.fingerprint is not None:
        condition = condition & (F.col("engine") == F.lit(one.fingerprint))
    if one.run_id is not None:
        condition = condition & (F.col("run_id") == F.lit(one.run_id))
    return condition if one.since is None else condition & (F.col("judged_at") >= F.lit(one.since))
