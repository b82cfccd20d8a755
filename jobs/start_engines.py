"""Set a run's engines up: end those that runs which are over left behind, so that this run's find their place.

The run's own engines start with the first round that has something to score (`score_round`), so a run without one
starts none. Only a Ray that outlives its drivers can hold engines of another run: without `ray_address` nothing is
looked for.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jobs.ledger import FAILED, PUBLISHED
from jobs.settings import Settings
from jobs.table_reader import query
from schemas.runs import RUNS

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run is to score."""

    run_id: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """End the engines of runs that are over.

    Returns:
        orphaned_runs: whose engines were found and ended; engines_ended: how many.
    """
    ended = _end_orphans(settings, params.run_id) if settings.ray_address else {}
    return {"orphaned_runs": sorted(ended), "engines_ended": sum(map(len, ended.values()))}


def reason_to_end(events: Mapping[str, datetime], *, now: datetime, idle: timedelta) -> str | None:
    """Say why nobody needs a run's engines any more; None where somebody may.

    Args:
        events: when each event of the run happened last, as the ledger has it.
        idle: a run whose last event is older than this died with its machine, say. A round that takes longer would
            lose its engines here, and start them again.
    """
    if PUBLISHED in events:
        return "it is published"
    steps = [at for event, at in events.items() if event not in (FAILED, "stop_engines")]
    if FAILED in events and events[FAILED] >= max(steps, default=events[FAILED]):
        return "it failed, and nobody has gone on with it"
    last = max(events.values())
    return f"nothing has happened in it since {last:%Y-%m-%d %H:%M} UTC" if now - last > idle else None


def _end_orphans(settings: Settings, run_id: str) -> dict[str, list[str]]:
    from mis_scoring.ray_data.named_engines import end_engines, engines_by_owner
    from mis_scoring.ray_data.session import ray_session

    ended: dict[str, list[str]] = {}
    with ray_session(address=settings.ray_address):
        others = [owner for owner in engines_by_owner() if owner != run_id]
        known = _last_events(settings.tables) if others else {}
        for other in others:
            if other not in known:  # of another deployment on the same Ray
                log.warning("engines of %s, a run that is not in %s: left alone", other, settings.tables)
                continue
            idle = timedelta(hours=settings.engine_idle_hours)
            reason = reason_to_end(known[other], now=datetime.now(UTC), idle=idle)
            if reason:
                ended[other] = end_engines(other)
                log.info("ended %d engines of %s: %s", len(ended[other]), other, reason)
    return ended


def _last_events(root: Path) -> dict[str, dict[str, datetime]]:
    found: dict[str, dict[str, datetime]] = {}
    for row in query(root, "SELECT run_id, event, max(at) AS at FROM runs GROUP BY run_id, event", RUNS):
        found.setdefault(row["run_id"], {})[row["event"]] = row["at"]
    return found
