"""What differs between two versions of the catalog, and whose candidates that moves, as far as a plan has said it."""

import json
from collections import Counter
from typing import Any, get_args

from jobs.catalog_changes import ChangedEntry, changed_entries
from jobs.catalog_version import catalog_version_of
from jobs.errors import MissingRequirementError
from jobs.ledger import published_pins
from jobs.pins import PINNED
from jobs.rules.catalog import EntryChange
from jobs.settings import Settings
from jobs.table_admin import current_version, require
from jobs.table_path import table_exists
from jobs.table_reader import literal, query
from schemas.catalog import CATALOG
from schemas.runs import RUNS


def catalog_diff(settings: Settings, then: str | None = None, now: str | None = None) -> dict[str, Any]:
    """Compare two versions.

    Args:
        then, now: a Delta version, or the digest of a version that a run pinned (its first digits do). By default the
            version of the run that was published last, and the table as it is.
    Returns:
        then, now: delta_version and catalog_version of each; counts by change; entries, each with its changes and both
        texts and categories; moved: members and candidates by a plan for `now`, None where there is none.
    Raises:
        MissingRequirementError: there is no such version, or it can't be read any more.
    """
    require(settings.tables, CATALOG)
    sides = _published(settings) if then is None else _resolve(settings, then), _resolve(settings, now)
    digests = [catalog_version_of(settings.tables, side) for side in sides]
    entries = changed_entries(settings.tables, *sides)
    counts = Counter(change for entry in entries for change in entry.changes)
    return {
        "then": {"delta_version": sides[0], "catalog_version": digests[0]},
        "now": {"delta_version": sides[1], "catalog_version": digests[1]},
        "counts": {change: counts[change] for change in get_args(EntryChange)},
        "entries": [_entry(entry) for entry in entries],
        "moved": _moved(settings, digests[1]),
    }


def _entry(entry: ChangedEntry) -> dict[str, Any]:
    sides = {"then": entry.then, "now": entry.now}
    states = {f"{name}_{side}": getattr(state, name, None) for side, state in sides.items() for name in _SHOWN}
    return {"qualification_id": entry.qualification_id, "changes": list(entry.changes), **states}


_SHOWN = ("category", "text")


def _resolve(settings: Settings, name: str | None) -> int:
    if name is None:
        return current_version(settings.tables, CATALOG)
    if name.isdigit() and int(name) <= current_version(settings.tables, CATALOG):
        return int(name)
    sql = f"SELECT payload FROM runs WHERE event = '{PINNED}' ORDER BY at DESC"
    rows = query(settings.tables, sql, RUNS) if table_exists(settings.tables, RUNS) else []
    pinned = (json.loads(row["payload"]) for row in rows)
    for pins in pinned:
        if pins["catalog_version"].startswith(name):
            return int(pins["catalog_delta_version"])
    raise MissingRequirementError(
        f"No catalog version {name!r}: give a Delta version of 0 to {current_version(settings.tables, CATALOG)}, or "
        "the digest that a run pinned (`semlabel runs RUN` shows it)."
    )


def _published(settings: Settings) -> int:
    runs = published_pins(settings.tables)
    if not runs:
        raise MissingRequirementError("No run is published yet: name the version to compare with.")
    return runs[0].catalog_delta_version


def _moved(settings: Settings, catalog_version: str) -> dict[str, Any] | None:
    """Return run_id, members, came_in and dropped_out of the plan of this content that moved most members.

    The first plan of a catalog moves candidates; those after its backfill find them moved.
    """
    if not table_exists(settings.tables, RUNS):
        return None
    pinned = f"%{json.dumps(catalog_version)}%"
    sql = f"""
        SELECT d.run_id, d.payload FROM runs d JOIN runs p ON p.run_id = d.run_id AND p.event = '{PINNED}'
        WHERE d.event = 'plan_refresh' AND p.payload LIKE {literal(pinned)} ORDER BY d.at DESC"""
    rows = query(settings.tables, sql, RUNS)
    plans = [{"run_id": row["run_id"], **json.loads(row["payload"])["moved"]} for row in rows]
    return max(plans, key=lambda plan: plan["members"], default=None)
