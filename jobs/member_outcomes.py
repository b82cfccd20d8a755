"""What a run found for each member: the coverage rows and the label rows that would hold after it.

Pure over frames; `publish_labels` decides which of them may be published.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.pins import Pins
from jobs.round_rule import is_accepted


def to_coverage(
    scope: DataFrame, candidates: DataFrame, rounds: DataFrame, outcomes: DataFrame, pins: Pins
) -> DataFrame:
    """Return one row a member in scope, with the columns of `coverage`.

    Args:
        scope, candidates, rounds (`member_rounds`), outcomes: of the run.
    """
    is_gone = (F.col("reason") == "member_removed").alias("is_gone")
    members = scope.select("member_id", "profile_version", "profile_hash", "retrieval_delta_version", is_gone)
    proposed = candidates.groupBy("member_id").agg(F.count(F.lit(1)).cast("int").alias("candidates"))
    queries = rounds.where("round = 0").select("member_id", "query_hash")
    joined = members.join(proposed, "member_id", "left").join(_judged(outcomes), "member_id", "left")
    joined = joined.join(queries, "member_id", "left")
    return _with_state(joined, pins).withColumns(
        {
            "run_id": F.lit(pins.run_id),
            "profiles_delta_version": F.lit(pins.profiles_delta_version).cast("long"),
            "catalog_version": F.lit(pins.catalog_version),
            "catalog_delta_version": F.lit(pins.catalog_delta_version).cast("long"),
            "artifact_id": F.lit(pins.artifact_id),
            "scorer_id": F.lit(pins.scorer_id),
            "retriever_id": F.lit(pins.retriever_id),
            "candidates_per_member": F.lit(pins.candidates_per_member),
            "pinned_at": F.lit(pins.pinned_at).cast("timestamp"),
            "restored_run_id": F.lit(None).cast("string"),
        }
    )


def _judged(outcomes: DataFrame) -> DataFrame:
    last = Window.partitionBy("member_id").orderBy(F.desc("round"))
    last_reason = F.first("reason").over(last)
    return (
        outcomes.withColumn("stop_reason", last_reason)
        .groupBy("member_id", "stop_reason")
        .agg(
            F.count(F.lit(1)).cast("int").alias("rounds"),
            F.sum("judged").cast("int").alias("judged"),
            F.sum("accepted").cast("int").alias("accepted"),
        )
    )


def _with_state(joined: DataFrame, pins: Pins) -> DataFrame:
    ranks = F.least(F.col("rounds") * pins.candidates_per_round, F.col("candidates"))
    walked = F.when(F.col("rounds").isNotNull(), ranks)
    has_no_more = (F.col("stop_reason") == "goes_on") & (walked == F.col("candidates"))  # fewer candidates than K
    joined = joined.withColumns(
        {"depth": walked, "stop_reason": F.when(has_no_more, "candidates_exhausted").otherwise(F.col("stop_reason"))}
    )
    ended = F.col("stop_reason").isin("accepted_too_little", "candidates_exhausted")
    incomplete = (
        F.when(F.col("is_gone"), None)
        .when(F.col("candidates").isNull(), "quarantined")
        .when(~F.coalesce(ended, F.lit(False)), "incomplete")
    )
    zero = {name: F.coalesce(name, F.lit(0)) for name in ("candidates", "rounds", "judged", "accepted", "depth")}
    stop_reason = F.when(F.col("is_gone"), "member_removed").otherwise(F.col("stop_reason"))
    stated = joined.withColumn("incomplete_reason", incomplete).withColumns(zero | {"stop_reason": stop_reason})
    return stated.withColumn("is_complete", F.col("incomplete_reason").isNull())


def to_labels(pairs: DataFrame, candidates: DataFrame, complete: DataFrame, pins: Pins) -> DataFrame:
    """Return the label rows of the complete members, but for `since_run_id`.

    Args:
        pairs: judged pairs of all rounds (`stop_early.judged_pairs`).
    """
    accepted = pairs.where(is_accepted(F.col("margin"), pins.threshold))
    ranked = candidates.select("member_id", "qualification_id", "rank", "profile_version")
    kept = accepted.join(ranked, ["member_id", "qualification_id"]).join(
        complete.select("member_id"), "member_id", "left_semi"
    )
    return kept.select(
        "member_id",
        "qualification_id",
        "score",
        F.lit(pins.threshold).alias("threshold"),
        F.lit(pins.artifact_id).alias("artifact_id"),
        F.lit(pins.scorer_id).alias("scorer_id"),
        "query_hash",
        "item_hash",
        "profile_version",
        F.lit(pins.catalog_version).alias("catalog_version"),
        "rank",
        "round",
        "judged_run_id",
        F.lit(pins.run_id).alias("published_run_id"),
    )
