"""Say what a run did: quality where answers are known, counts, stop reasons, tokens, seconds; to a file and to MLflow.

Quality leads. A supported pair without a label was lost in one of three places: it was not retrieved, its member had
stopped before its rank, or the scorer rejected it. Needs no Spark; memory grows with the known answers.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from jobs.ledger import PUBLISHED
from jobs.mlflow_client import experiment_id, registry_client
from jobs.pins import Pins
from jobs.settings import Settings
from jobs.table_reader import literal, pins_of, query
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


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """Write `<reports>/<run_id>.json`, log its figures to MLflow, and return the counts."""
    pins = pins_of(settings.tables, params.run_id)
    events = _events(settings, pins)
    report = {
        "run_id": pins.run_id,
        "quality": quality(settings, pins),
        "counts": _counts(settings, pins, events),
        "stop_reasons": _members_by(settings, pins, "stop_reason", "is_complete"),
        "left_out": _members_by(settings, pins, "incomplete_reason", "NOT is_complete"),
        "changes": events.get(PUBLISHED, {}).get("changes", {}),
        "seconds": {step: payload["seconds"] for step, payload in events.items() if "seconds" in payload},
        "pins": asdict(pins),
    }
    settings.reports.mkdir(parents=True, exist_ok=True)
    (settings.reports / f"{pins.run_id}.json").write_text(json.dumps(report, indent=2, sort_keys=True))
    _log_metrics(settings, report)
    return {"run_id": pins.run_id, **report["counts"]}


def quality(settings: Settings, pins: Pins) -> dict[str, Any] | None:
    """Compare the published labels with the known answers; None where none is known.

    Unknown pairs are left out and counted. A pair of a member with any known answer is unsupported unless listed.
    """
    tables = (REFERENCE, LABELS, CANDIDATES, COVERAGE)
    tally = query(settings.tables, _TALLY.format(run=literal(pins.run_id)), *tables)[0]
    return rates(tally) if tally["supported"] else None


_TALLY = f"""
WITH published AS (
    SELECT member_id, qualification_id FROM labels WHERE member_id IN (SELECT member_id FROM reference)
), pairs AS (
    SELECT coalesce(r.member_id, l.member_id) AS member_id,
           coalesce(r.qualification_id, l.qualification_id) AS qualification_id,
           l.member_id IS NOT NULL AS is_label,
           coalesce(r.answer, '') = '{SUPPORTED}' AS is_supported, coalesce(r.answer, '') = '{UNKNOWN}' AS is_unknown
    FROM reference r FULL OUTER JOIN published l
    ON r.member_id = l.member_id AND r.qualification_id = l.qualification_id
), placed AS (
    SELECT p.*, c.rank IS NOT NULL AS is_retrieved, coalesce(c.rank < v.depth, false) AS is_judged
    FROM pairs p
    LEFT JOIN (SELECT * FROM candidates WHERE run_id = {{run}}) c
    ON p.member_id = c.member_id AND p.qualification_id = c.qualification_id
    LEFT JOIN (SELECT * FROM coverage WHERE run_id = {{run}}) v ON p.member_id = v.member_id
)
SELECT count(*) FILTER (WHERE is_label AND is_supported) AS true_positives,
       count(*) FILTER (WHERE is_label AND NOT is_supported AND NOT is_unknown) AS false_positives,
       count(*) FILTER (WHERE is_supported AND NOT is_label AND NOT is_retrieved) AS lost_in_retrieval,
       count(*) FILTER (WHERE is_supported AND NOT is_label AND is_retrieved AND NOT is_judged) AS lost_by_early_stop,
       count(*) FILTER (WHERE is_supported AND NOT is_label AND is_judged) AS lost_by_scorer,
       count(*) FILTER (WHERE is_label AND is_unknown) AS unknown_labels,
       count(*) FILTER (WHERE is_supported AND is_retrieved) AS supported_retrieved,
       count(*) FILTER (WHERE is_supported) AS supported
FROM placed"""


def rates(tally: dict[str, int]) -> dict[str, Any]:
    """Precision, recall, F1 and recall@K from counts; None where the denominator is 0."""
    true, labelled = tally["true_positives"], tally["true_positives"] + tally["false_positives"]
    return {
        "precision": _ratio(true, labelled),
        "recall": _ratio(true, tally["supported"]),
        "f1": _ratio(2 * true, labelled + tally["supported"]),
        "recall_at_k": _ratio(tally["supported_retrieved"], tally["supported"]),
        **tally,
    }


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _events(settings: Settings, pins: Pins) -> dict[str, Any]:
    """Each event's payload by name; of several attempts the last one, which did what the earlier left undone."""
    sql = f"SELECT event, payload FROM runs WHERE run_id = {literal(pins.run_id)} ORDER BY at"
    return {row["event"]: json.loads(row["payload"]) for row in query(settings.tables, sql, RUNS)}


def _members_by(settings: Settings, pins: Pins, column: str, condition: str) -> dict[str, int]:
    sql = f"""
        SELECT {column} AS what, count(*) AS members FROM coverage
        WHERE run_id = {literal(pins.run_id)} AND {condition} GROUP BY {column} ORDER BY members DESC"""
    return {row["what"]: row["members"] for row in query(settings.tables, sql, COVERAGE)}


def _counts(settings: Settings, pins: Pins, events: dict[str, Any]) -> dict[str, int]:
    of_run = f"WHERE run_id = {literal(pins.run_id)}"
    covered = f"""
        SELECT count(*) AS members, coalesce(max(rounds), 0) AS rounds, coalesce(sum(judged), 0) AS judgments
        FROM coverage {of_run}"""
    aside = f"SELECT count(*) AS quarantined FROM quarantine {of_run}"
    counts = query(settings.tables, covered, COVERAGE)[0] | query(settings.tables, aside, QUARANTINE)[0]
    counts |= query(settings.tables, "SELECT count(*) AS labels FROM labels", LABELS)[0]
    rounds = [payload for event, payload in events.items() if event.startswith("round_")]
    scoring = ("scored", "pairs_reused", "tie_checked", "tie_tokens", "tokens", "engines_started")
    return counts | {name: sum(payload.get(name, 0) for payload in rounds) for name in scoring}


def _log_metrics(settings: Settings, report: dict[str, Any]) -> None:
    client = registry_client(settings)
    run = client.create_run(experiment_id(client, settings), run_name=report["run_id"])
    figures = report["counts"] | {k: v for k, v in (report["quality"] or {}).items() if v is not None}
    for name, value in figures.items():
        client.log_metric(run.info.run_id, name, float(value))
    client.set_tag(run.info.run_id, "artifact_id", report["pins"]["artifact_id"])
    client.set_terminated(run.info.run_id)
