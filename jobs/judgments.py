"""Read judgments the one right way: one row a key, the newest generation, then the first committed.

A read scans two hashes and a score of every judgment of the scorer. Where few members are concerned their query hashes
go to every task and only their judgments are moved; where many are, both sides are.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from jobs.tables import read
from schemas.judgments import JUDGMENTS

FEW_QUERIES = 100_000  # 64 bytes each


def usable_judgments(
    spark: SparkSession, root: Path, scorer_id: str, queries: DataFrame, *, n_queries: int
) -> DataFrame:
    """Return one judgment for each pair of the given queries that a scorer has judged.

    Args:
        queries: query_hash; any number of rows a query.
        n_queries: how many there are, at most.
    """
    wanted = queries.select("query_hash").distinct()
    few = F.broadcast(wanted) if n_queries <= FEW_QUERIES else wanted
    return one_a_key(read(spark, root, JUDGMENTS, scorer_id=scorer_id).join(few, "query_hash", "left_semi"))


def one_a_key(judgments: DataFrame) -> DataFrame:
    """Keep the newest generation of a pair and, in it, the first committed; two runs may have scored it at once."""
    order = Window.partitionBy("scorer_id", "query_hash", "item_hash").orderBy(
        F.desc("generation"), "judged_at", "run_id"
    )
    return judgments.withColumn("_place", F.row_number().over(order)).where("_place = 1").drop("_place")
