"""Whose labels were made with a judgment that was revoked since: `jobs.rules.revocation` over coverage and judgments.

Coverage names the query that was judged, and with the scorer that names all judgments of the member. Costs nothing
before the first revocation; then a plan scans four columns of `judgments`, of files that the revocations may concern.
"""

from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.judgments import withdrawn_at
from jobs.pins import Pins
from jobs.revocations import read_revocations
from jobs.tables import read
from schemas.judgments import JUDGMENTS

SCHEMA = "member_id string"


def revoked_members(spark: SparkSession, root: Path, published: DataFrame, pins: Pins) -> DataFrame:
    """Return (member_id) of those whose labels stand on older pins than a revocation that the run honours.

    Args:
        published: `coverage.published_coverage`.
    """
    revocations = read_revocations(root, as_of=datetime.fromisoformat(pins.pinned_at))
    if not revocations:
        return spark.createDataFrame([], SCHEMA)
    judgments = read(spark, root, JUDGMENTS).withColumn("withdrawn_at", withdrawn_at(revocations))
    return to_revoked(published, judgments.where("withdrawn_at IS NOT NULL"))


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
