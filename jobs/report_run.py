"""Say what a run did, quality first: `<reports>/<run_id>.json` and `.html`, and its figures in MLflow.

Needs no Spark. Counts and versions only: no member is named and no text is quoted.
"""

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from jobs.ledger import HELD, PUBLISHED
from jobs.mlflow_client import experiment_id, registry_client
from jobs.pins import Pins
from jobs.run_figures import (
    against_plan,
    drift,
    funnel,
    positive_rate,
    previous_positive_rate,
    quarantined,
    rounds,
    summed_over_rounds,
)
from jobs.run_ledger import RunLedger, read_run
from jobs.run_page import write_page
from jobs.run_quality import quality
from jobs.settings import Settings
from jobs.stop_price import stop_price
from jobs.table_reader import literal, pins_of, query
from schemas.coverage import COVERAGE
from schemas.labels import LABELS
from schemas.quarantine import QUARANTINE

if TYPE_CHECKING:
    from mlflow import MlflowClient

_RUN_TAG = "semlabel_run_id"


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run to report."""

    run_id: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """Write the run's report, log its figures to MLflow, and return the counts and the positive rate by category."""
    report = report_of(settings, pins_of(settings.tables, params.run_id))
    settings.reports.mkdir(parents=True, exist_ok=True)
    path = settings.reports / f"{params.run_id}.json"
    path.write_text(json.dumps(report, indent=2, sort_keys=True), encoding="utf-8")
    write_page(path.with_suffix(".html"), report)
    _log_metrics(settings, report)
    return {"run_id": params.run_id, **report["counts"], "positive_rate": report["positive_rate"]}


def report_of(settings: Settings, pins: Pins) -> dict[str, Any]:
    """Return all figures of a run, as `<run_id>.json` holds them."""
    root = settings.tables
    ledger = read_run(root, pins.run_id)
    previous, rates = previous_positive_rate(root, pins, ledger), positive_rate(root, pins)
    return {
        "run_id": pins.run_id,
        "quality": quality(settings),
        "counts": _counts(settings, pins, ledger),
        "held": list(ledger.of(HELD).get("reasons", [])),
        "scope_reasons": dict(ledger.of("plan_refresh").get("reasons", {})),
        "funnel": funnel(root, pins, ledger),
        "rounds": rounds(root, pins, ledger),
        "stop_reasons": _members_by(settings, pins, "stop_reason", "is_complete"),
        "stop_price": stop_price(settings, pins, ledger, rates),
        "left_out": _members_by(settings, pins, "incomplete_reason", "NOT is_complete"),
        "changes": dict(ledger.of(PUBLISHED).get("changes", {})),
        "seconds": {event: payload["seconds"] for event, payload in ledger.payloads.items() if "seconds" in payload},
        "seconds_by_job": ledger.seconds_by_job(),
        "waited_s": ledger.waited_s(),
        "elapsed_s": ledger.elapsed_s(),
        "against_plan": against_plan(ledger, settings.engines_usd_per_hour),
        "expected_by": ledger.of("plan_refresh").get("expected_by"),
        "positive_rate": rates,
        "previous_run_id": previous["run_id"] if previous else None,
        "drift": drift(rates, previous),
        "quarantine": quarantined(root, pins),
        "pins": asdict(pins),
    }


def _members_by(settings: Settings, pins: Pins, column: str, condition: str) -> dict[str, int]:
    sql = f"""
        SELECT {column} AS what, count(*) AS members FROM coverage
        WHERE run_id = {literal(pins.run_id)} AND {condition} GROUP BY {column} ORDER BY members DESC"""
    return {row["what"]: row["members"] for row in query(settings.tables, sql, COVERAGE)}


def _counts(settings: Settings, pins: Pins, ledger: RunLedger) -> dict[str, int]:
    of_run = f"WHERE run_id = {literal(pins.run_id)}"
    covered = f"""
        SELECT count(*) AS members, coalesce(max(rounds), 0) AS rounds, coalesce(sum(judged), 0) AS judgments
        FROM coverage {of_run}"""
    aside = f"SELECT count(*) AS quarantined FROM quarantine {of_run}"
    counts = query(settings.tables, covered, COVERAGE)[0] | query(settings.tables, aside, QUARANTINE)[0]
    counts |= query(settings.tables, "SELECT count(*) AS labels FROM labels", LABELS)[0]
    return counts | summed_over_rounds(ledger)


def _log_metrics(settings: Settings, report: dict[str, Any]) -> None:
    client = registry_client(settings)
    run = _mlflow_run(client, experiment_id(client, settings), report["run_id"])
    figures = report["counts"] | {k: v for k, v in (report["quality"] or {}).items() if v is not None}
    for name, value in figures.items():
        client.log_metric(run.info.run_id, name, float(value))
    client.set_tag(run.info.run_id, "artifact_id", report["pins"]["artifact_id"])
    client.set_terminated(run.info.run_id)


def _mlflow_run(client: "MlflowClient", experiment: str, run_id: str) -> Any:
    """Return the run in MLflow, which is one however often it is reported."""
    found = client.search_runs([experiment], f"tags.{_RUN_TAG} = '{run_id}'", max_results=1)
    return found[0] if found else client.create_run(experiment, run_name=run_id, tags={_RUN_TAG: run_id})
