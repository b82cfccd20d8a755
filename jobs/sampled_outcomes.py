"""Keep what the candidates of the sampled members came to, before and after their stop: a row a member."""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.judgments import usable_judgments
from jobs.pins import Pins
from jobs.round_rule import is_accepted
from jobs.stop_early import judged_pairs
from jobs.stop_sample import sample_size, sampled_members
from jobs.tables import read, replace
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.stop_sample import STOP_SAMPLE


def keep_stop_sample(spark: SparkSession, root: Path, pins: Pins) -> None:
    """Write `stop_sample` of a run whose coverage is written; a run that draws no sample writes nothing."""
    n_sampled = sample_size(root, pins)
    if n_sampled == 0:
        return
    sample = sampled_members(spark, root, pins)

    def of_sample(rows: DataFrame) -> DataFrame:
        return rows.join(sample, "member_id", "left_semi")

    rounds = of_sample(read(spark, root, MEMBER_ROUNDS, run_id=pins.run_id))
    known = usable_judgments(spark, root, pins, rounds, n_queries=n_sampled)
    entries = read(spark, root, CATALOG, version=pins.catalog_delta_version)
    rows = to_stop_sample(
        of_sample(read(spark, root, COVERAGE, run_id=pins.run_id)),
        of_sample(read(spark, root, CANDIDATES, run_id=pins.run_id)),
        judged_pairs(rounds, known),
        of_sample(read(spark, root, ROUND_OUTCOMES, run_id=pins.run_id)),
        entries.select("qualification_id", "category").dropDuplicates(["qualification_id"]),
        pins,
    )
    replace(rows, root, STOP_SAMPLE, run_id=pins.run_id)


def to_stop_sample(
    coverage: DataFrame, candidates: DataFrame, pairs: DataFrame, outcomes: DataFrame, entries: DataFrame, pins: Pins
) -> DataFrame:
    """Return one row a member that was judged at all, with the columns of `stop_sample`.

    Args:
        coverage, candidates, pairs, outcomes: of the sampled members; `pairs` as `stop_early.judged_pairs`.
        entries: qualification_id, category.
    """
    found = _ranks(candidates, pairs, entries, pins).join(_rounds(outcomes), "member_id")
    rows = coverage.select("member_id", "stop_reason", "rounds", "candidates").join(found, "member_id")
    last_round = F.ceil(F.col("candidates") / pins.candidates_per_round) - 1
    is_judged_to_end = (F.col("missing") == 0) & (F.col("last_round") == last_round)
    return rows.withColumns({"run_id": F.lit(pins.run_id), "is_judged_to_end": is_judged_to_end})


def _ranks(candidates: DataFrame, pairs: DataFrame, entries: DataFrame, pins: Pins) -> DataFrame:
    margins = pairs.select("member_id", "qualification_id", "margin")
    ranked = candidates.select("member_id", "qualification_id", "rank").join(
        margins, ["member_id", "qualification_id"], "left"
    )
    accepted = F.struct("rank", F.coalesce("category", F.lit("none")).alias("category"))
    found = (
        ranked.join(entries, "qualification_id", "left")
        .groupBy("member_id")
        .agg(
            _collected(F.col("margin").isNull(), F.col("rank")).alias("unjudged_ranks"),
            _collected(is_accepted(F.col("margin"), pins.threshold), accepted).alias("accepted"),
        )
    )
    return found.select(
        "member_id",
        "unjudged_ranks",
        F.col("accepted.rank").alias("accepted_ranks"),
        F.col("accepted.category").alias("accepted_categories"),
    )


def _collected(condition: Column, value: Column) -> Column:
    return F.sort_array(F.collect_list(F.when(condition, value)))


def _rounds(outcomes: DataFrame) -> DataFrame:
    is_past, nothing = F.col("is_past_stop"), F.lit(0)
    return outcomes.groupBy("member_id").agg(
        F.sum("missing").alias("missing"),
        F.max("round").alias("last_round"),
        F.sum(F.when(is_past, F.col("scored")).otherwise(nothing)).cast("int").alias("scored_past_stop"),
        F.sum(F.when(is_past, F.col("tokens") + F.col("tie_tokens")).otherwise(nothing))
        .cast("long")
        .alias("tokens_past_stop"),
    )
