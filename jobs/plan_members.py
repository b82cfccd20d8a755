"""Price each member of a run: `jobs.rules.forecast` and `jobs.rules.reasons` over what is known of its pairs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.artifact_folder import load_artifact
from jobs.candidate_moves import MOVES, candidate_moves
from jobs.pins import Pins
from jobs.planned_pairs import FACTS, planned_rounds, removed_labels
from jobs.rules.forecast import Figure, Forecast, RoundFacts, Survival, forecast
from jobs.rules.reasons import CandidateMoves, plan_reasons
from jobs.stop_sample import sample_size, sampled_members
from jobs.tables import read
from mis_scoring.core.rounds import RoundRule
from mis_scoring.core.tokenizer import PromptTokenizer
from schemas.member_plans import FIGURES, MEMBER_PLANS
from schemas.scope import SCOPE

_NOTHING = Figure(0, 0.0, 0)


def to_member_plans(spark: SparkSession, root: Path, pins: Pins, survival: Survival) -> DataFrame:
    """Return a row of `member_plans` for each member in scope."""
    layout = load_artifact(pins).prompt
    scope = read(spark, root, SCOPE, run_id=pins.run_id).select("run_id", "member_id", "reasons")
    parts = (
        planned_rounds(spark, root, pins, layout),
        removed_labels(spark, root, pins),
        candidate_moves(spark, root, pins),
    )
    for part in parts:
        scope = scope.join(part, "member_id", "left")
    scope = _with_sample(spark, root, pins, scope)
    tokenizer_file = Path(pins.artifact_folder) / "tokenizer.json"
    rule = RoundRule(candidates_per_round=pins.candidates_per_round, stop_below=pins.stop_below)

    def plan(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        tokenizer = PromptTokenizer(tokenizer_file, layout)
        for frame in frames:
            rows = [_plan_one(row, tokenizer, rule, survival) for row in frame.to_dict("records")]
            yield pd.DataFrame(rows, columns=MEMBER_PLANS.columns.names)

    return scope.mapInPandas(plan, from_arrow_schema(MEMBER_PLANS.columns))


def _with_sample(spark: SparkSession, root: Path, pins: Pins, scope: DataFrame) -> DataFrame:
    """Add `is_sampled`: the member goes on past its stop, where the run draws a sample."""
    if not sample_size(root, pins):
        return scope.withColumn("is_sampled", F.lit(False))
    drawn = sampled_members(spark, root, pins).withColumn("is_drawn", F.lit(True))
    joined = scope.join(drawn, "member_id", "left")
    return joined.withColumn("is_sampled", F.coalesce("is_drawn", F.lit(False))).drop("is_drawn")


def _plan_one(row: dict[str, Any], tokenizer: PromptTokenizer, rule: RoundRule, survival: Survival) -> dict[str, Any]:
    moves = None if pd.isna(row["moved"]) else CandidateMoves(**{name: int(row[name]) for name in MOVES})
    planned = _forecast(row, tokenizer, rule, survival)
    figures = {
        f"{name}_{bound}": getattr(getattr(planned, name), bound)
        for name in FIGURES
        for bound in ("min", "expected", "max")
    }
    return {
        "run_id": row["run_id"],
        "member_id": row["member_id"],
        "reasons": list(plan_reasons(tuple(row["reasons"]), moves)),
        "came_in": moves.came_in if moves else 0,
        "dropped_out": moves.dropped_out if moves else 0,
        **figures,
    }


def _forecast(row: dict[str, Any], tokenizer: PromptTokenizer, rule: RoundRule, survival: Survival) -> Forecast:
    if pd.isna(row["query_text"]):  # gone, or quarantined: nothing is scored, and only who is gone loses labels
        n_labels = 0 if pd.isna(row["n_labels"]) else int(row["n_labels"])
        lost = Figure(n_labels, float(n_labels), n_labels)
        return Forecast(**dict.fromkeys(FIGURES, _NOTHING) | {"label_changes": lost})
    rounds = [
        RoundFacts(**dict(zip(FACTS, map(int, facts), strict=True)))
        for facts in zip(*(row[name] for name in FACTS), strict=True)
    ]
    query_tokens = len(tokenizer.encode_query(row["query_text"])) if any(facts.unknown for facts in rounds) else 0
    return forecast(query_tokens, rounds, rule, survival, is_sampled=bool(row["is_sampled"]))
