"""The revocations, and the judgments that they leave, for readers without Spark: `jobs.rules.revocation` as SQL.

Revocations are acts of a person, so there are few: each becomes a condition. `jobs.judgments` says the same as columns.
"""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from jobs.rules.revocation import Revocation
from jobs.table_path import table_exists
from jobs.table_reader import literal, query
from schemas.revocations import REVOCATIONS

ORDER_OF_JUDGMENTS = "generation DESC, judged_at, run_id"  # of the usable ones of a pair the first holds


def read_revocations(root: Path, *, as_of: datetime | None = None) -> list[Revocation]:
    """Return the revocations, or those that were made by a time, oldest first."""
    if not table_exists(root, REVOCATIONS):
        return []
    sql = "SELECT revocation_id, fingerprint, run_id, since, until, at FROM revocations ORDER BY at, revocation_id"
    found = [Revocation(**row) for row in query(root, sql, REVOCATIONS)]
    return [one for one in found if as_of is None or one.at <= as_of]


def is_usable(revocations: Iterable[Revocation]) -> str:
    """Return the condition that keeps the rows of `judgments` that nothing has withdrawn."""
    return " AND ".join(["true", *(f"NOT {is_withdrawn_by(one)}" for one in revocations)])


def is_withdrawn_by(one: Revocation) -> str:
    """Return the condition that keeps the rows of `judgments` that one revocation withdraws."""
    parts = [f"judged_at <= {_time(one.until)}"]
    if one.fingerprint is not None:
        parts.append(f"engine = {literal(one.fingerprint)}")
    if one.run_id is not None:
        parts.append(f"run_id = {literal(one.run_id)}")
    if one.since is not None:
        parts.append(f"judged_at >= {_time(one.since)}")
    return f"({' AND '.join(parts)})"


def _time(at: datetime) -> str:
    return f"TIMESTAMP '{at.isoformat()}'"
