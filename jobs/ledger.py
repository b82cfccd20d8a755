"""The ledger of runs: append an event once, read events back; by delta-rs, so that it costs no Spark query.

An event is appended under the transaction id (run_id, event, attempt): whoever writes it first wins and every later
attempt reads the same.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jobs.pins import PINNED, Pins
from jobs.rules.run_state import APPROVED as APPROVED
from jobs.rules.run_state import CANARY_FAILED as CANARY_FAILED
from jobs.rules.run_state import FAILED as FAILED
from jobs.rules.run_state import HELD as HELD
from jobs.rules.run_state import PILOTED as PILOTED
from jobs.rules.run_state import PLANNED as PLANNED
from jobs.rules.run_state import PUBLISHED as PUBLISHED
from jobs.rules.run_state import REJECTED as REJECTED
from jobs.rules.standing import PROFILE_UPDATES
from jobs.table_path import table_exists
from jobs.table_reader import literal, pins_of, query
from jobs.table_writer import append_rows
from mis_scoring.core.identity import canonical_json
from schemas.runs import RUNS


def append_event(root: Path, run_id: str, event: str, payload: Mapping[str, Any], *, attempt: int = 1) -> None:
    """Append one event; the first payload of a (run_id, event, attempt) stays."""
    row = {
        "run_id": run_id,
        "event": event,
        "attempt": attempt,
        "at": datetime.now(UTC),
        "payload": canonical_json(dict(payload)),
    }
    append_rows(root, RUNS, [row], transaction=f"{run_id}:{event}:{attempt}")


def event_payload(root: Path, run_id: str, event: str, *, attempt: int | None = None) -> dict[str, Any] | None:
    """Return the payload of a run's event, that of the first attempt unless told, or None when it has not happened."""
    of_event = f"run_id = {literal(run_id)} AND event = {literal(event)}"
    if attempt is not None:
        of_event += f" AND attempt = {attempt}"
    sql = f"SELECT payload FROM runs WHERE {of_event} ORDER BY attempt LIMIT 1"
    rows = query(root, sql, RUNS)
    return dict(json.loads(rows[0]["payload"])) if rows else None


def last_event_at(root: Path, run_id: str, *, before: datetime) -> datetime | None:
    """Return when the latest event of a run before a moment was appended, or None when there is none."""
    sql = f"SELECT at FROM runs WHERE run_id = {literal(run_id)}"
    earlier = [row["at"] for row in query(root, sql, RUNS) if row["at"] < before]
    return max(earlier, default=None)


def write_pins(root: Path, pins: Pins) -> Pins:
    """Append the pins unless the run has some already, and return those that stand."""
    append_event(root, pins.run_id, PINNED, asdict(pins))
    return pins_of(root, pins.run_id)


def publications(root: Path) -> dict[str, int]:
    """Return the published runs, each with the version of `labels` that it committed or found to be right.

    One row a run; a run that changes nothing commits nothing, and holds from the version that it was compared with.
    """
    rows = query(root, f"SELECT run_id, payload FROM runs WHERE event = '{PUBLISHED}'", RUNS)
    return {row["run_id"]: publication_number(json.loads(row["payload"])) for row in rows}


def publication_number(published: Mapping[str, Any]) -> int:
    """Return the version of `labels` that a run committed or found to be right, by its `published` event."""
    return int(published["labels_version"] or published.get("compared_with", 0))


def published_pins(root: Path) -> list[Pins]:
    """Return what the published runs pinned, the last published first; one value a run that ever published.

    But for profile updates: each looks at a few members, and says nothing of what all others stand on.
    """
    return [pins for pins in _pins_of_runs_with(root, PUBLISHED) if pins.kind != PROFILE_UPDATES]


def piloted_pins(root: Path) -> list[Pins]:
    """Return what the pilots pinned that came to their end, the last one first."""
    return _pins_of_runs_with(root, PILOTED)


def _pins_of_runs_with(root: Path, event: str) -> list[Pins]:
    if not table_exists(root, RUNS):
        return []
    sql = f"""
        SELECT p.payload FROM runs p JOIN runs d ON d.run_id = p.run_id AND d.event = {literal(event)}
        WHERE p.event = '{PINNED}' ORDER BY d.at DESC"""
    return [Pins(**json.loads(row["payload"])) for row in query(root, sql, RUNS)]


def runs_that_may_publish(root: Path, *, idle_hours: float) -> set[str]:
    """Return the pinned runs that may be about to publish: no end is in the ledger, and something happened lately.

    A run that is taken up again after its end, or after so many hours, looks at the labels as they are then.
    """
    since = (datetime.now(UTC) - timedelta(hours=idle_hours)).isoformat()
    sql = f"""
        SELECT run_id FROM runs GROUP BY run_id
        HAVING count(*) FILTER (WHERE event = '{PINNED}') > 0
        AND count(*) FILTER (WHERE event IN ('{PUBLISHED}', '{PLANNED}')) = 0
        AND max(at) >= TIMESTAMP '{since}'
        AND max(at) FILTER (WHERE event = '{REJECTED}') IS DISTINCT FROM max(at)"""
    return {row["run_id"] for row in query(root, sql, RUNS)}


def unpublished_runs(root: Path) -> list[str]:
    """Return the runs that are pinned and have no `published` event, whatever became of them."""
    sql = f"""
        SELECT DISTINCT run_id FROM runs WHERE event = '{PINNED}'
        AND run_id NOT IN (SELECT run_id FROM runs WHERE event = '{PUBLISHED}')"""
    return [row["run_id"] for row in query(root, sql, RUNS)]
