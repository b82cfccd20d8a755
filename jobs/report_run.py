"""Say what a run did: quality where answers are known, counts, stop reasons, tokens, seconds; to a file and to MLflow.

Quality leads. A supported pair without a label was lost in one of three places: it was not retrieved, its member had
stopped before its rank, or the scorer rejected it.
"""

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.ledger import PUBLISHED, read_pins
from jobs.pins import Pins
from jobs.settings import Settings
from jobs.tables import read
from schemas.candidates import CANDIDATES
from schemas.coverage import COVERAGE
from schemas.labels import LABELS
from schemas.quarantine import QUARANTINE
from schemas.reference import REFERENCE, SUPPORTED, UNKNOWN
from schemas.runs import RUNS


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run to report."""

    run_id: str


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Write `<reports>/<run_id>.json`, log its figures to MLflow, and return it."""
    root = settings.tables
    pins = read_pins(spark, root, params.run_id)
    coverage = read(spark, root, COVERAGE, run_id=pins.run_id)
    events = _events(spark, settings, pins.run_id)
    report = {
        "run_id": pins.run_id,
        "quality": quality(spark, settings, pins, coverage),
        "counts": _counts(spark, settings, pins, coverage, events),
        "stop_reasons": _count_by(coverage.where("is_complete"), "stop_reason"),
        "left_out": _count_by(coverage.where("NOT is_complete"), "incomplete_reason"),
        "changes": events.get(PUBLISHED, {}).get("changes", {}),
        "seconds": {step: payload["seconds"] for step, payload in events.items() if "seconds" in payload},
        "pins": asdict(pins),
    }
    settings.reports.mkdir(parents=True, exist_ok=True)
    (settings.reports / f"{pins.run_id}.json").write_text(json.dumps(report, indent=2, sort_keys=True))
    _log_metrics(settings, report)
    return report


def quality(spark: SparkSession, settings: Settings, pins: Pins, coverage: DataFrame) -> dict[str, Any] | None:
    """Compare the published labels with the known answers; None where none is known.

    Unknown pairs are left out and counted. A pair of a member with any known answer is unsupported unless listed.
    """
    root = settings.tables
    reference = read(spark, root, REFERENCE)
    if reference.isEmpty():
        return None
    known_members = reference.select("member_id").distinct()
    labels = read(spark, root, LABELS).join(known_members, "member_id", "left_semi")
    candidates = read(spark, root, CANDIDATES, run_id=pins.run_id)
    pairs = (
        reference.join(labels.select("member_id", "qualification_id", F.lit(True).alias("is_label")), _KEY, "full")
        .join(candidates.select(*_KEY, "rank"), _KEY, "left")
        .join(coverage.select("member_id", "depth"), "member_id", "left")
    )
    return rates(_tally(pairs), n_candidates=candidates.count())


_KEY = ["member_id", "qualification_id"]


def _tally(pairs: DataFrame) -> dict[str, int]:
    is_label, supported = F.col("is_label").isNotNull(), F.coalesce(F.col("answer") == SUPPORTED, F.lit(False))
    unknown = F.coalesce(F.col("answer") == UNKNOWN, F.lit(False))
    retrieved = F.col("rank").isNotNull()
    judged = retrieved & (F.col("rank") < F.coalesce("depth", F.lit(0)))
    lost = supported & ~is_label
    row = pairs.agg(
        F.count_if(is_label & supported).alias("true_positives"),
        F.count_if(is_label & ~supported & ~unknown).alias("false_positives"),
        F.count_if(lost & ~retrieved).alias("lost_in_retrieval"),
        F.count_if(lost & retrieved & ~judged).alias("lost_by_early_stop"),
        F.count_if(lost & judged).alias("lost_by_scorer"),
        F.count_if(is_label & unknown).alias("unknown_labels"),
        F.count_if(supported & retrieved).alias("supported_retrieved"),
        F.count_if(supported).alias("supported"),
    ).collect()[0]
    return dict(row.asDict())


def rates(tally: dict[str, int], *, n_candidates: int) -> dict[str, Any]:
    """Precision, recall, F1 and recall@K from counts; None where the denominator is 0."""
    true, labelled = tally["true_positives"], tally["true_positives"] + tally["false_positives"]
    precision, recall = _ratio(true, labelled), _ratio(true, tally["supported"])
    f1 = _ratio(2 * true, labelled + tally["supported"])
    recall_at_k = _ratio(tally["supported_retrieved"], tally["supported"])
    rated = {"precision": precision, "recall": recall, "f1": f1, "recall_at_k": recall_at_k}
    return rated | tally | {"candidates": n_candidates}


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _events(spark: SparkSession, settings: Settings, run_id: str) -> dict[str, Any]:
    rows = read(spark, settings.tables, RUNS, run_id=run_id).orderBy("at").collect()
    return {row.event: json.loads(row.payload) for row in rows}


def _count_by(rows: DataFrame, column: str) -> dict[str, int]:
    return {row[column]: row["count"] for row in rows.groupBy(column).count().collect()}


def _counts(
    spark: SparkSession, settings: Settings, pins: Pins, coverage: DataFrame, events: dict[str, Any]
) -> dict[str, int]:
    root = settings.tables
    rounds = [payload for event, payload in events.items() if event.startswith("round_")]
    total = coverage.agg(F.sum("judged").alias("judged"), F.max("rounds").alias("rounds")).collect()[0]
    return {
        "members": coverage.count(),
        "rounds": total.rounds or 0,
        "judgments": total.judged or 0,
        "scored": sum(payload.get("committed", 0) for payload in rounds),
        "reused": sum(payload.get("pairs_reused", 0) for payload in rounds),
        "tie_checked": sum(payload.get("tie_checked", 0) for payload in rounds),
        "tie_tokens": sum(payload.get("tie_tokens", 0) for payload in rounds),
        "tokens": sum(payload.get("tokens", 0) for payload in rounds),
        "engines_started": sum(payload.get("engines_started", 0) for payload in rounds),
        "labels": read(spark, root, LABELS).count(),
        "quarantined": read(spark, root, QUARANTINE, run_id=pins.run_id).count(),
    }


def _log_metrics(settings: Settings, report: dict[str, Any]) -> None:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from jobs.labeler_registry import experiment_id, registry_client

    client = registry_client(settings)
    run = client.create_run(experiment_id(client, settings), run_name=report["run_id"])
    figures = report["counts"] | {k: v for k, v in (report["quality"] or {}).items() if v is not None}
    for name, value in figures.items():
        client.log_metric(run.info.run_id, name, float(value))
    client.set_tag(run.info.run_id, "artifact_id", report["pins"]["artifact_id"])
    client.set_terminated(run.info.run_id)
