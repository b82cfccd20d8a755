"""Commit the staged scores of one round to `judgments`, once; and say of a round what it scored.

Ray writes parquet staging; this is the one Delta commit that follows, under the transaction id (run_id, round, scorer).
A row that failed in the engine has no score: its member goes to quarantine with the error, and stays in scope.
"""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.judgments import one_a_key
from jobs.pins import Pins
from jobs.quarantine import set_aside
from jobs.round_commit import committed_result, round_transaction
from jobs.tables import append, read
from mis_scoring.ray_data.staging import STAGED_SCORES, scores_folder
from mis_scoring.ray_data.summary import prepare_folder, summarise
from schemas.judgments import JUDGMENTS
from schemas.round_outcomes import ROUND_OUTCOMES


def commit_scores(
    spark: SparkSession, root: Path, staging: Path, pins: Pins, round: int, past_stop: DataFrame
) -> tuple[dict[str, Any], DataFrame]:
    """Append the round's new judgments and set the rows that failed aside; not where it is done and the staging gone.

    Args:
        past_stop: member_id of those whose round prices their stop; where it fails, nothing of theirs is incomplete.
    Returns:
        committed, failed: counts of pairs and of member rows; and what each member's row cost, see `spent`.
    """
    folder = scores_folder(staging, pins.run_id, round, pins.scorer_id)
    prepare_folder(folder)
    summary = summarise(folder)
    done = None if summary["rows"] else committed_result(root, pins, round)
    if done:
        return {"committed": done["scored"], "failed": done["errors"]}, _kept_cost(spark, root, pins, round)
    staged = read_staged(spark, folder)
    if summary["scored"]:
        append(to_judgments(staged, pins), root, JUDGMENTS, transaction=round_transaction(pins, round))
    if summary["errors"]:
        set_aside(failures(staged, past_stop), root, run_id=pins.run_id, step=f"score_round_{round}")
    return {"committed": summary["scored"], "failed": summary["errors"]}, spent(staged)


def read_staged(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the staged rows of a round; none where nothing had to be scored."""
    schema = from_arrow_schema(STAGED_SCORES)
    return spark.read.schema(schema).option("recursiveFileLookup", "true").parquet(str(folder / "data"))


def to_judgments(staged: DataFrame, pins: Pins) -> DataFrame:
    """Return one row a scored pair, with the columns of `judgments`."""
    pairs = staged.where("error IS NULL").select(
        "query_hash",
        "engine",
        F.explode(F.arrays_zip("item_hashes", "margins", "is_reference")).alias("item"),
    )
    margin = F.col("item.margins").cast("double")
    rows = pairs.select(
        F.lit(pins.scorer_id).alias("scorer_id"),
        "query_hash",
        F.col("item.item_hashes").alias("item_hash"),
        F.lit(pins.generation).alias("generation"),
        margin.alias("margin"),
        (1 / (1 + F.exp(-margin))).alias("score"),
        F.col("item.is_reference").alias("is_reference"),
        "engine",
        F.lit(pins.run_id).alias("run_id"),
        F.current_timestamp().alias("judged_at"),
    )
    # by query, not by pair: a member's judgments of a round stand in one file, and a reader looks into no other's items
    return one_a_key(rows.repartition("query_hash"))


def spent(staged: DataFrame) -> DataFrame:
    """Return (member_id, scored, tokens, tie_tokens) of the rows that were scored.

    As staged: a round that is built again after its scores were committed has nothing left to score.
    """
    cost = (F.size("item_ids").alias("scored"), F.col("n_tokens").alias("tokens"), "tie_tokens")
    return staged.where("error IS NULL").select("member_id", *cost)


def _kept_cost(spark: SparkSession, root: Path, pins: Pins, round: int) -> DataFrame:
    """Return the same of a round whose staging is gone, as its outcomes have it."""
    outcomes = read(spark, root, ROUND_OUTCOMES, run_id=pins.run_id, round=round)
    return outcomes.where("scored > 0").select("member_id", "scored", "tokens", "tie_tokens")


def failures(staged: DataFrame, past_stop: DataFrame) -> DataFrame:
    """Return (table, key, reason, value_hash) of the rows that the engine could not score."""
    marked = past_stop.select("member_id", F.lit("stop_sample").alias("table"))
    return (
        staged.where("error IS NOT NULL")
        .join(marked, "member_id", "left")
        .select(
            F.coalesce("table", F.lit("profiles")).alias("table"),
            F.col("member_id").alias("key"),
            F.concat(F.lit("not scored: "), "error").alias("reason"),
            F.col("query_hash").alias("value_hash"),
        )
    )
