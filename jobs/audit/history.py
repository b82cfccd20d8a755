"""The history of a member's labels: what each published run changed, and why."""

from typing import Any

from jobs.audit.changes import changes_of
from jobs.audit.moment import moment_of
from jobs.settings import Settings
from jobs.table_reader import Reader

_SHOWN = ("score", "threshold", "artifact_id", "profile_version", "catalog_version", "rank", "round", "judged_run_id")


def label_history(settings: Settings, member_id: str, qualification_id: str | None = None) -> list[dict[str, Any]]:
    """Return the changes of a member's labels, or of one, oldest first.

    Returns:
        rows run_id, published_at, qualification_id, change, reason, before, after; the last two are None or hold score,
        threshold, artifact_id, profile_version, catalog_version, rank, round and judged_run_id.
    """
    reader = Reader(settings.tables)
    moment = moment_of(reader, None)
    return [
        {
            "run_id": row["run_id"],
            "published_at": moment.publications[row["run_id"]].at.isoformat(),
            "member_id": row["member_id"],
            "qualification_id": row["qualification_id"],
            "change": row["change"],
            "reason": row["reason"],
            "before": _shown(row["before"]),
            "after": _shown(row["after"]),
        }
        for row in changes_of(reader, moment, member_id, qualification_id)
    ]


def _shown(label: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if label is None else {name: label[name] for name in _SHOWN}
