"""Whose labels were made with a judgment that was revoked since: `jobs.rules.revocation` over coverage and judgments.

Coverage names the query that was judged, and with the scorer that names all judgments of the member. Judgments are
scanned only as long as some member's labels stand on pins from before a revocation: after the next run of everyone no
plan does. Until then four columns of `judgments` are, of the scorers that such labels stand on; what no revocation fits
is left out by plain comparisons, which skip files and row groups of other runs and times.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.judgments import fits, withdrawn_at
from jobs.pins import Pins
from jobs.revocations import read_revocations
from jobs.rules.revocation import Revocation, may_concern
from jobs.standing_coverage import standing_coverage
from jobs.table_reader import query
from jobs.tables import read
from schemas.coverage import COVERAGE
from schemas.judgments import JUDGMENTS

SCHEMA = "member_id string"


def revoked_members(spark: SparkSession, root: Path, published: DataFrame, pins: Pins) -> DataFrame:
    """Return (member_id) of those whose labels stand on older pins than a revocation that the run honours.

    Args:
        published: `coverage.published_coverage`.
    """
    revocations = read_revocations(root, as_of=datetime.fromisoformat(pins.pinned_at))
    oldest = _oldest_pins(root) if revocations else {}
    found = [
        to_revoked(published, withdrawn_judgments(spark, root, scorer_id, later))
        for scorer_id, pinned_at in oldest.items()
        if (later := may_concern(pinned_at, revocations))
    ]
    return reduce(DataFrame.union, found) if found else spark.createDataFrame([], SCHEMA)


def withdrawn_judgments(
    spark: SparkSession, root: Path, scorer_id: str, revocations: Sequence[Revocation]
) -> DataFrame:
    """Return scorer_id, query_hash and withdrawn_at of a scorer's judgments that revocations fit."""
    judgments = read(spark, root, JUDGMENTS, scorer_id=scorer_id).where(reduce(or_, map(fits, revocations)))
    return judgments.select("scorer_id", "query_hash", withdrawn_at(revocations).alias("withdrawn_at"))


def _oldest_pins(root: Path) -> dict[str, datetime]:
    """Return the time of the oldest pins that published labels stand on, by their scorer; without Spark."""
    sql = f"{standing_coverage(root)} SELECT scorer_id, min(pinned_at) AS oldest FROM stands GROUP BY scorer_id"
    return {row["scorer_id"]: row["oldest"] for row in query(root, sql, COVERAGE)}


def to_revoked(published: DataFrame, withdrawn: DataFrame) -> DataFrame:
    """Return (member_id), each once.

    Args:
        withdrawn: scorer_id, query_hash and withdrawn_at of judgments; any number of rows a query.
    """
    stands = published.where("stands IS NOT NULL").select(
        "member_id", "stands.scorer_id", "stands.query_hash", "stands.pinned_at"
    )
    of_query = withdrawn.groupBy("scorer_id", "query_hash").agg(F.max("withdrawn_at").alias("withdrawn_at"))
    joined = stands.join(of_query, ["scorer_id", "query_hash"])
    return joined.where("withdrawn_at > pinned_at").select("member_id")
