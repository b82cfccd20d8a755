"""All labels of one member, now or at an earlier moment, and what they stand on."""

from typing import Any

from jobs.audit.changes import label_rows
from jobs.audit.coverage import coverage_line, coverage_of
from jobs.audit.moment import Moment, moment_of
from jobs.audit.runs import ledgers_of, run_line
from jobs.audit.staleness import stale_member
from jobs.settings import Settings
from jobs.table_reader import Reader, is_in
from jobs.tombstone import reason_of, tombstone_of
from schemas.catalog import CATALOG


def labels_of(settings: Settings, member_id: str, *, as_of: str | None = None) -> list[dict[str, Any]]:
    """Return a member's labels by rank: the row of `labels`, with the `category` and `text` that the catalog has now.

    Args:
        as_of: a published run, or a time as ISO 8601; None: now.
    Raises:
        DataError: `as_of` is neither.
    """
    reader = Reader(settings.tables)
    return _labels(reader, moment_of(reader, as_of), member_id)


def audit_member(settings: Settings, member_id: str, *, as_of: str | None = None) -> dict[str, Any]:
    """Return a member's label set with what it stands on.

    Returns:
        member_id, as_of; state: labelled, unlabelled, not_evaluated or erased; reason, is_stale, stale_reasons,
        coverage, confirmed (the run), erasure, n_labels, labels (see `labels_of`).
    Raises:
        DataError: `as_of` is neither a published run nor a time.
    """
    reader = Reader(settings.tables)
    moment, tombstone = moment_of(reader, as_of), tombstone_of(reader, member_id)
    labels, covered = _labels(reader, moment, member_id), coverage_of(reader, moment, member_id)
    stands = covered.stands
    if tombstone is not None:
        state, reason = "erased", reason_of(tombstone)
    elif labels:
        state, reason = "labelled", f"{len(labels)} labels"
    elif stands is not None:
        state, reason = "unlabelled", f"judged {stands['judged']} candidates, accepted none"
    else:
        state, reason = "not_evaluated", "no published run has covered this member"
    run_id: str | None = stands["run_id"] if stands else None
    last = moment.last.run_id if moment.last else None
    ledgers = ledgers_of(reader, {one for one in (run_id, last) if one is not None})
    is_compared = moment.is_now and stands is not None
    stale = stale_member(reader, covered, ledgers.get(last or ""), member_id) if is_compared else None
    return {
        "member_id": member_id,
        "as_of": moment.as_dict(),
        "state": state,
        "reason": reason,
        "is_stale": None if stale is None else bool(stale),
        "stale_reasons": stale or [],
        "coverage": coverage_line(stands),
        "confirmed": run_line(run_id, ledgers),
        "erasure": tombstone and tombstone.as_dict(),
        "n_labels": len(labels),
        "labels": labels,
    }


def _labels(reader: Reader, moment: Moment, member_id: str) -> list[dict[str, Any]]:
    rows = label_rows(reader, moment, member_id)
    entries = _entries(reader, {row["qualification_id"] for row in rows})
    return [row | entries.get(row["qualification_id"], {"category": None, "text": None}) for row in rows]


def _entries(reader: Reader, ids: set[str]) -> dict[str, dict[str, Any]]:
    sql = f"SELECT qualification_id, category, text FROM catalog WHERE {is_in('qualification_id', ids)}"
    return {row.pop("qualification_id"): row for row in reader.rows(sql, CATALOG)}
