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

_COMMITS_BACK = 1000  # maintenance commits, too


def committed_runs(root: Path) -> dict[str, int]:
    """Return the version of each of the last commits on `labels` that carries a run's id.

    Every pin and every publisher asks, so that a commit without its event is among the last.
    """
    history = DeltaTable(table_path(root, LABELS)).history(_COMMITS_BACK)
    return {commit["userMetadata"]: int(commit["version"]) for commit in history if commit.get("userMetadata")}


def labels_version_of(root: Path, run_id: str) -> int | None:
    """Return the version of the commit on `labels` that carries the run's id."""
    return committed_runs(root).get(run_id)


def count_by(root: Path, table: Table, column: str, run_id: str) -> dict[Any, int]:
    """Count a run's rows by the values of a column."""
    sql = f"SELECT {column} AS what, count(*) AS n FROM {table.name} WHERE run_id = {literal(run_id)} GROUP BY {column}"
    return {row["what"]: row["n"] for row in query(root, sql, table)}


def append_published(
    root: Path, run_id: str, version: int | None, counts: dict[str, int], *, compared_with: int
) -> dict[str, Any]:
    """Append the event that closes a run's publication, and return it.

    Args:
        version: of the commit on `labels`; None where the run changed nothing.
        compared_with: the version of `labels` that the changes were computed against.
    """
    left_out = count_by(root, COVERAGE, "incomplete_reason", run_id)
    payload = {
        "labels_version": version,  # null: the run changed nothing and made no commit
        "compared_with": compared_with,
        "changes": counts,
        "members_published": left_out.pop(None, 0),
        "members_left_out": left_out,
    }
    append_event(root, run_id, PUBLISHED, payload)
    return payload


def repair_published_event(root: Path, run_id: str) -> dict[str, Any]:
    """Append the missing `published` event of a run whose id stands in the history of `labels`."""
    counts, version = count_by(root, LABEL_CHANGES, "change", run_id), committed_runs(root)[run_id]
    return append_published(root, run_id, version, counts, compared_with=version - 1)


def repair_published_events(root: Path) -> int:
    """Repair every run that committed to `labels` and ended before its event; return how many."""
    open_runs = unpublished_runs(root)
    broken = sorted(committed_runs(root).keys() & open_runs) if open_runs else []
    for run_id in broken:
        repair_published_event(root, run_id)
    return len(broken)
