"""Keep ledger, tables and staging in order; safe beside running jobs, and to be killed and run again.

A run is over when it is published, or when it is not and has had no event for `run_idle_hours`: that one is written
down as failed. What a run that is not over reads or writes is left alone: its partitions, its staging, and the table
versions that it pinned, a held run's too, however long it waits. Audit and replay read no old version of a table.
"""

import logging
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jobs.ledger import PUBLISHED
from jobs.pins import PINNED, run_id_of
from jobs.published_event import repair_published_events
from jobs.run_failure import write_failure
from jobs.run_ledger import RunLedger, read_runs
from jobs.settings import Settings
from jobs.standing_coverage import standing_coverage
from jobs.table_admin import create_missing
from jobs.table_path import table_exists
from jobs.table_reader import query
from jobs.table_upkeep import compact, expire_rows, vacuum
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.profiles import PROFILES
from schemas.runs import RUNS
from schemas.table import Table

log = logging.getLogger(__name__)

KIND = "table_maintenance"
EVERY = tuple(dict.fromkeys((*UPSTREAM_TABLES, *RUN_TABLES)))
OWN = tuple(table for table in EVERY if table not in UPSTREAM_TABLES)  # the layout of the others is their writers'
STAGING_PREFIXES = ("scores/run_id=", "retrieval/")  # under the staging root; a run's id follows


@dataclass(frozen=True, kw_only=True)
class Params:
    """What started it."""

    trigger_id: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """Do all of it and return the counts.

    Returns:
        run_id; published_repaired, runs_failed, runs_held, unpublished_coverage: runs; runs_expired, files_compacted,
        files_vacuumed: by table, without the zeros; staging_removed: folders.
    """
    root, now = settings.tables, datetime.now(UTC)
    create_missing(root, RUNS)
    counts = {"published_repaired": repair_published_events(root), "runs_failed": fail_idle_runs(settings, now)}
    runs = read_runs(root)
    ended = [run for run in runs if run.is_over(now, settings.run_idle_hours)]
    return {
        "run_id": run_id_of(KIND, params.trigger_id, settings.environment),
        **counts,
        "runs_held": sum(run.state == "held" for run in runs),
        "unpublished_coverage": _unpublished_coverage(root),
        **_upkeep(settings, ended=ended, going=[run for run in runs if run not in ended], now=now),
        "staging_removed": _remove_staging(settings.staging, ended),
    }


def _upkeep(settings: Settings, *, ended: list[RunLedger], going: list[RunLedger], now: datetime) -> dict[str, Any]:
    """Rows first, then files: what a step leaves unneeded the next one finds."""
    root, ids = settings.tables, {run.run_id for run in ended}

    def cleaned(table: Table) -> int:
        return vacuum(root, table, hours=settings.vacuum_hours, versions=pinned_versions(table, going))

    return {
        "runs_expired": _by_table(root, EVERY, lambda t: expire_rows(root, t, expired(root, t, ended, now))),
        "files_compacted": _by_table(root, OWN, lambda table: compact(root, table, ended=ids)),
        "files_vacuumed": _by_table(root, EVERY, cleaned),
    }


def expired(root: Path, table: Table, ended: Iterable[RunLedger], now: datetime) -> set[str]:
    """Return the runs whose rows in a table are past its retention."""
    if table.kept_days is None:
        return set()
    limit = now - timedelta(days=table.kept_days)
    past = {run.run_id for run in ended if run.last_step_at < limit}
    return past - _standing_coverage(root) if table is COVERAGE and past else past


def pinned_versions(table: Table, runs: Iterable[RunLedger]) -> set[int]:
    """Return the versions of a table that runs read by number."""
    column = {PROFILES.name: "profiles_delta_version", CATALOG.name: "catalog_delta_version"}.get(table.name)
    return {int(run.of(PINNED)[column]) for run in runs} if column else set()


def fail_idle_runs(settings: Settings, now: datetime) -> int:
    """Write down as failed each run that is open and has done nothing for too long; return how many."""
    limit = now - timedelta(hours=settings.run_idle_hours)
    idle = [run for run in read_runs(settings.tables) if run.state == "open" and run.last_at < limit]
    for run in idle:
        reason = (
            f"no event since {run.last_at:%Y-%m-%d %H:%M} UTC, which is more than {settings.run_idle_hours:g} hours"
        )
        write_failure(settings.tables, run, reason)
        log.info("%s: %s", run.run_id, reason)
    return len(idle)


def _unpublished_coverage(root: Path) -> int:
    """Count the runs that wrote coverage and are not published: readers leave it out, retention removes it."""
    if not table_exists(root, COVERAGE):
        return 0
    sql = f"""
        SELECT count(DISTINCT run_id) AS runs FROM coverage
        WHERE run_id NOT IN (SELECT run_id FROM runs WHERE event = '{PUBLISHED}')"""
    return int(query(root, sql, COVERAGE, RUNS)[0]["runs"])


def _standing_coverage(root: Path) -> set[str]:
    """Return the runs that hold a row that some member's labels stand on, or that says why a member was left out."""
    sql = standing_coverage(root) + "SELECT run_id FROM stands UNION SELECT run_id FROM left_out"
    return {row["run_id"] for row in query(root, sql, COVERAGE)}


def _by_table(root: Path, tables: Iterable[Table], count: Callable[[Table], int]) -> dict[str, int]:
    counts = {table.name: count(table) for table in tables if table_exists(root, table)}
    return {name: n for name, n in counts.items() if n}


def _remove_staging(staging: Path, ended: Iterable[RunLedger]) -> int:
    """Remove what runs that are over left under the staging root; return how many folders. Unknown ones are left."""
    folders = [staging / f"{prefix}{run.run_id}" for run in ended for prefix in STAGING_PREFIXES]
    there = [folder for folder in folders if folder.is_dir()]
    for folder in there:
        shutil.rmtree(folder)
    return len(there)
