"""End a round: commit its scores, count what each member's round accepted, and decide who goes on.

A round with missing scores neither stops nor advances a member: it is incomplete, and so is the member's run.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.commit_scores import commit_scores
from jobs.judgments import usable_judgments
from jobs.pins import Pins
from jobs.round_rule import is_accepted, reason
from jobs.scope import n_in_scope
from jobs.settings import Settings
from jobs.table_reader import literal, pins_of, query
from jobs.tables import read, replace
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.round_outcomes import ROUND_OUTCOMES


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which round of which run to end."""

    run_id: str
    round: int


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Write `judgments` and `round_outcomes` of the round; say how many members go on."""
    root = settings.tables
    pins = pins_of(root, params.run_id)
    committed = commit_scores(spark, root, settings.staging, pins, params.round)
    rows = read(spark, root, MEMBER_ROUNDS, run_id=pins.run_id, round=params.round)
    known = usable_judgments(spark, root, pins, rows, n_queries=n_in_scope(root, pins.run_id))
    pairs = judged_pairs(rows, known)
    replace(to_outcomes(pairs, pins, params.round), root, ROUND_OUTCOMES, run_id=pins.run_id, round=params.round)
    sql = f"""
        SELECT reason, count(*) AS members FROM round_outcomes
        WHERE run_id = {literal(pins.run_id)} AND round = {params.round} GROUP BY reason"""
    reasons = {row["reason"]: row["members"] for row in query(root, sql, ROUND_OUTCOMES)}
    return committed | {"reasons": reasons, "goes_on": reasons.get("goes_on", 0)}


def judged_pairs(member_rounds: DataFrame, judgments: DataFrame) -> DataFrame:
    """Return one row a pair of the round: member_id, round, qualification_id, hashes; margin is null where missing.

    A member whose slots in the round are all empty has one row without a pair.
    """
    items = F.arrays_zip(
        F.concat("item_ids", "reused_ids").alias("id"), F.concat("item_hashes", "reused_hashes").alias("hash")
    )
    pairs = member_rounds.select("run_id", "round", "member_id", "query_hash", F.explode_outer(items).alias("item"))
    named = pairs.select(
        "run_id",
        "round",
        "member_id",
        "query_hash",
        F.col("item.id").alias("qualification_id"),
        F.col("item.hash").alias("item_hash"),
    )
    facts = judgments.select("query_hash", "item_hash", "margin", "score", F.col("run_id").alias("judged_run_id"))
    return named.join(facts, ["query_hash", "item_hash"], "left")


def to_outcomes(pairs: DataFrame, pins: Pins, round: int) -> DataFrame:
    """Return one row a member: counts, `goes_on`, and the reason."""
    judged, missing = F.col("margin").isNotNull(), F.col("margin").isNull() & F.col("item_hash").isNotNull()
    accepted = is_accepted(F.col("margin"), pins.threshold)
    counted = pairs.groupBy("run_id", "round", "member_id").agg(
        F.count_if(judged).cast("int").alias("judged"),
        F.count_if(judged & accepted).cast("int").alias("accepted"),
        F.count_if(missing).cast("int").alias("missing"),
    )
    why = reason(
        F.col("judged"),
        F.col("accepted"),
        F.col("missing"),
        stop_below=pins.stop_below,
        is_last_round=round == pins.n_rounds - 1,
    )
    return counted.withColumn("reason", why).withColumn("goes_on", F.col("reason") == "goes_on")
