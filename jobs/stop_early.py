"""End a round: commit its scores, count what each member's round accepted, and decide who goes on.

A round with missing scores neither stops nor advances a member: it is incomplete, and so is the member's run. A round
past the stop of a sampled member decides nothing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.commit_scores import commit_scores
from jobs.judgments import usable_judgments
from jobs.pins import Pins
from jobs.round_rule import is_accepted, reason
from jobs.scope import n_in_scope
from jobs.settings import Settings
from jobs.stop_sample import UP_TO_THE_STOP, sample_size, sampled_members
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
    """Write `judgments` and `round_outcomes` of the round; say how many members go on.

    Returns:
        committed, failed; reasons: members by reason; goes_on; next_round: members that have one, sampled ones past
        their stop among them; past_stop_members, past_stop_scored, past_stop_tokens, past_stop_tie_tokens: this round's
        part for the sample.
    """
    root = settings.tables
    pins = pins_of(root, params.run_id)
    rows = read(spark, root, MEMBER_ROUNDS, run_id=pins.run_id, round=params.round)
    past_stop = rows.where("is_past_stop").select("member_id")
    committed, cost = commit_scores(spark, root, settings.staging, pins, params.round, past_stop)
    known = usable_judgments(spark, root, pins, rows, n_queries=n_in_scope(root, pins.run_id))
    outcomes = to_outcomes(judged_pairs(rows, known), pins, params.round)
    sample = sampled_members(spark, root, pins) if sample_size(root, pins) else None
    found = with_sample(with_spent(outcomes, rows, cost), sample, is_last_round=params.round == pins.n_rounds - 1)
    replace(found, root, ROUND_OUTCOMES, run_id=pins.run_id, round=params.round)
    return committed | _counts(root, params)


def _counts(root: Path, params: Params) -> dict[str, Any]:
    of_round = f"FROM round_outcomes WHERE run_id = {literal(params.run_id)} AND round = {params.round}"
    by_reason = f"SELECT reason, count(*) AS members {of_round} AND {UP_TO_THE_STOP} GROUP BY reason"
    reasons = {row["reason"]: row["members"] for row in query(root, by_reason, ROUND_OUTCOMES)}
    further = f"SELECT count(*) AS members {of_round} AND (goes_on OR goes_past_stop)"
    past_stop = f"""
        SELECT count(*) AS past_stop_members, coalesce(sum(scored), 0) AS past_stop_scored,
               coalesce(sum(tokens), 0) AS past_stop_tokens, coalesce(sum(tie_tokens), 0) AS past_stop_tie_tokens
        {of_round} AND is_past_stop"""
    return {
        "reasons": reasons,
        "goes_on": reasons.get("goes_on", 0),
        "next_round": query(root, further, ROUND_OUTCOMES)[0]["members"],
        **query(root, past_stop, ROUND_OUTCOMES)[0],
    }


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
        F.count_if(judged & accepted & (F.col("judged_run_id") == F.col("run_id")))
        .cast("int")
        .alias("scored_accepted"),
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


def with_spent(outcomes: DataFrame, member_rounds: DataFrame, cost: DataFrame) -> DataFrame:
    """Add what each row cost, and whether it is past the member's stop.

    Args:
        cost: (member_id, scored, tokens, tie_tokens) of the members that something was scored for.
    """
    built = member_rounds.select("member_id", _is_past_stop())
    joined = outcomes.join(built, "member_id").join(cost, "member_id", "left")
    types = {"scored": "int", "tokens": "long", "tie_tokens": "long"}
    return joined.withColumns({name: F.coalesce(name, F.lit(0)).cast(type_) for name, type_ in types.items()})


def _is_past_stop() -> Column:
    return F.coalesce("is_past_stop", F.lit(False)).alias("is_past_stop")


def with_sample(outcomes: DataFrame, sample: DataFrame | None, *, is_last_round: bool) -> DataFrame:
    """Let a round past the stop decide nothing, and say which members have another one.

    Args:
        sample: member_id; None where the run draws none.
    """
    decides = F.when(F.col("is_past_stop") & (F.col("reason") != "incomplete"), "past_stop").otherwise(F.col("reason"))
    found = outcomes.withColumns({"reason": decides, "goes_on": ~F.col("is_past_stop") & F.col("goes_on")})
    if sample is None or is_last_round:
        return found.withColumn("goes_past_stop", F.lit(False))
    drawn = sample.withColumn("goes_past_stop", F.lit(True))
    ends = F.col("reason").isin("accepted_too_little", "past_stop")
    joined = found.join(drawn, "member_id", "left")
    return joined.withColumn("goes_past_stop", ends & F.coalesce("goes_past_stop", F.lit(False)))
