"""Read judgments the one right way: one row a key, the newest generation, then the first committed."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from jobs.tables import read
from schemas.judgments import JUDGMENTS


def usable_judgments(spark: SparkSession, root: Path, scorer_id: str) -> DataFrame:
    """Return one judgment for each (query_hash, item_hash) of a scorer; shuffles all that the scorer has judged."""
    return one_a_key(read(spark, root, JUDGMENTS, scorer_id=scorer_id))


def one_a_key(judgments: DataFrame) -> DataFrame:
    """Keep the newest generation of a pair and, in it, the first committed; two runs may have scored it at once."""
    order = Window.partitionBy("scorer_id", "query_hash", "item_hash").orderBy(
        F.desc("generation"), "judged_at", "run_id"
    )
    return judgments.withColumn("_place", F.row_number().over(order)).where("_place = 1").drop("_place")
