"""End the engines of runs that are over: what a run that died left would hold its GPUs until another run scores.

Only a Ray that outlives its drivers can hold engines of another run: without `ray_address` nothing is looked for.
"""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.run_ledger import RunLedger, read_runs
from jobs.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run looks; its own engines stay."""

    run_id: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """End the engines of runs that are over.

    Returns:
        orphaned_runs: whose engines were found and ended; engines_ended: how many.
    """
    ended = _end(settings, params.run_id) if settings.ray_address else {}
    return {"orphaned_runs": sorted(ended), "engines_ended": sum(map(len, ended.values()))}


def reason_to_end(run: RunLedger, *, now: datetime, idle: timedelta) -> str | None:
    """Say why nobody needs a run's engines any more; None where somebody may.

    Args:
        idle: a run whose last event is older than this died with its machine, say. A round that takes longer would
            lose its engines here, and start them again.
    """
    if run.state == "published":
        return "it is published"
    if run.state in ("planned", "rejected"):
        return "it ended with its plan"
    if run.state == "failed":
        return "it failed, and nobody has gone on with it"
    is_idle = now - run.last_at > idle
    return f"nothing has happened in it since {run.last_at:%Y-%m-%d %H:%M} UTC" if is_idle else None


def _end(settings: Settings, run_id: str) -> dict[str, list[str]]:
    from mis_scoring.ray_data.named_engines import end_engines, engines_by_owner
    from mis_scoring.ray_data.session import ray_session

    ended: dict[str, list[str]] = {}
    with ray_session(address=settings.ray_address):
        others = [owner for owner in engines_by_owner() if owner != run_id]
        known = {run.run_id: run for run in read_runs(settings.tables)} if others else {}
        for other in others:
            if other not in known:  # of another deployment on the same Ray
                log.warning("engines of %s, a run that is not in %s: left alone", other, settings.tables)
                continue
            idle = timedelta(hours=settings.run_idle_hours)
            reason = reason_to_end(known[other], now=datetime.now(UTC), idle=idle)
            if reason:
                ended[other] = end_engines(other)
                log.info("ended %d engines of %s: %s", len(ended[other]), other, reason)
    return ended
