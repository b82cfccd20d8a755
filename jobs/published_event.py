"""The `published` event of a run, and its repair where a run ended between its commit on `labels` and the event."""

from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from jobs.ledger import PUBLISHED, append_event, unpublished_runs
from jobs.table_path import table_path
from jobs.table_reader import literal, query
from schemas.coverage import COVERAGE
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.table import Table


def labels_version_of(root: Path, run_id: str) -> int | None:
    """Return the version of the commit on `labels` that carries the run's id."""
    history = DeltaTable(table_path(root, LABELS)).history()
    return next((int(commit["version"]) for commit in history if commit.get("userMetadata") == run_id), None)


def count_by(root: Path, table: Table, column: str, run_id: str) -> dict[Any, int]:
    """Count a run's rows by the values of a column."""
    sql = f"SELECT {column} AS what, count(*) AS n FROM {table.name} WHERE run_id = {literal(run_id)} GROUP BY {column}"
    return {row["what"]: row["n"] for row in query(root, sql, table)}


def append_published(root: Path, run_id: str, version: int | None, counts: dict[str, int]) -> dict[str, Any]:
    """Append the event that closes a run's publication, and return it.

    Args:
        version: of the commit on `labels`; None where the run changed nothing.
    """
    left_out = count_by(root, COVERAGE, "incomplete_reason", run_id)
    payload = {
        "labels_version": version,  # null: the run changed nothing and made no commit
        "changes": counts,
        "members_published": left_out.pop(None, 0),
        "members_left_out": left_out,
    }
    append_event(root, run_id, PUBLISHED, payload)
    return payload


def repair_published_event(root: Path, run_id: str) -> dict[str, Any]:
    """Append the missing `published` event of a run whose id stands in the history of `labels`."""
    counts = count_by(root, LABEL_CHANGES, "change", run_id)
    return append_published(root, run_id, labels_version_of(root, run_id), counts)


def repair_published_events(root: Path) -> int:
    """Repair every run that committed to `labels` and ended before its event; return how many."""
    open_runs = unpublished_runs(root)
    broken = [run_id for run_id in open_runs if labels_version_of(root, run_id) is not None] if open_runs else []
    for run_id in broken:
        repair_published_event(root, run_id)
    return len(broken)
