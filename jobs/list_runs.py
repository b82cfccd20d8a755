"""The ledger as a person reads it: runs newest first, or one run whole."""

import json
from typing import Any

from jobs.errors import MissingRequirementError
from jobs.input_hold import show_holds
from jobs.ledger import FAILED
from jobs.pins import PINNED
from jobs.run_ledger import RunLedger, of_rows
from jobs.settings import Settings
from jobs.table_reader import literal, query
from schemas.runs import RUNS


def list_runs(settings: Settings, *, limit: int) -> list[dict[str, Any]]:
    """Return one line a run: state, pinned versions, counts; newest first, and last each rollback whose hold stands.

    A run that was not reported yet has no counts, but `members` as planned; `failed_step` is the task that failed.
    """
    newest = f"""
        SELECT run_id, max(at) AS last FROM runs WHERE run_id IN (SELECT run_id FROM runs WHERE event = 'pinned')
        GROUP BY run_id ORDER BY last DESC LIMIT {limit}"""  # table maintenance stands in the ledger too, and pins none
    ids = [row["run_id"] for row in query(settings.tables, newest, RUNS)]
    holds = {hold["run_id"]: hold for hold in show_holds(settings.tables)}
    run_ids = dict.fromkeys([*ids, *reversed(holds)])
    return [_line(_shown(settings, run_id, holds.get(run_id))) for run_id in run_ids]


def show_run(settings: Settings, run_id: str) -> dict[str, Any]:
    """Return a run's pins, its events and, once it is reported, its report.

    Raises:
        MissingRequirementError: there is no such run.
    """
    hold = next((hold for hold in show_holds(settings.tables) if hold["run_id"] == run_id), None)
    return _shown(settings, run_id, hold)


def _shown(settings: Settings, run_id: str, hold: dict[str, Any] | None) -> dict[str, Any]:
    sql = f"SELECT event, attempt, at, payload FROM runs WHERE run_id = {literal(run_id)} ORDER BY at"
    rows = query(settings.tables, sql, RUNS)
    if not rows:
        raise MissingRequirementError(f"No run {run_id!r} in {settings.tables}: `semlabel runs` lists them.")
    ledger = of_rows(run_id, rows)
    events = [
        {"event": row["event"], "attempt": row["attempt"], "at": row["at"].isoformat(), **_payload(row)} for row in rows
    ]
    report = settings.reports / f"{run_id}.json"
    return {
        "run_id": run_id,
        "state": _state(ledger),
        "failure": dict(ledger.of(FAILED)) if ledger.state == "failed" else None,
        "pins": dict(ledger.of(PINNED)),
        "events": [event for event in events if event["event"] != PINNED],
        "report": json.loads(report.read_text()) if report.exists() else None,
        "members": (ledger.of("plan_refresh") or ledger.of("scope_members")).get("members"),  # updates have no plan
        "seconds": round(sum(ledger.seconds_by_job().values()), 1),
        "hold": hold,
    }


def _state(ledger: RunLedger) -> str:
    """Return the run's state; maintenance and promotions pin nothing, and nobody goes on with them."""
    return "ended" if ledger.state == "open" and PINNED not in ledger.times else ledger.state


def _payload(row: dict[str, Any]) -> dict[str, Any]:
    return {"payload": json.loads(row["payload"])}


def _line(run: dict[str, Any]) -> dict[str, Any]:
    report = run["report"] or {}
    kept = ("kind", "pinned_at", "labeler_version", "profiles_delta_version", "catalog_delta_version", "is_validated")
    return {
        "run_id": run["run_id"],
        "state": run["state"],
        "failed_step": (run["failure"] or {}).get("step"),
        "hold": run["hold"] and run["hold"]["hold_id"],
        **{name: run["pins"][name] for name in kept},
        **({} if run["members"] is None else {"members": run["members"]}),
        **report.get("counts", {}),
        "quality": report.get("quality"),
        "stop_reasons": report.get("stop_reasons", {}),
        "seconds": run["seconds"],
    }
