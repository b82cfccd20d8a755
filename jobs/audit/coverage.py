"""Which published coverage a member's labels stood on at a moment: `jobs.rules.standing` for one member."""

from dataclasses import dataclass
from typing import Any

from jobs.audit.moment import Moment
from jobs.table_reader import Reader, equals
from schemas.coverage import COVERAGE
from schemas.quarantine import QUARANTINE

_PARTS = ("profiles_delta_version", "catalog_delta_version", "pinned_at")


@dataclass(frozen=True, kw_only=True)
class MemberCoverage:
    """Rows of `coverage`, or None where there is none.

    Attributes:
        stands: the complete row of the last publication: labels are as that run found them.
        left_out: run_id and incomplete_reason of the newest row that says why a later run left the member as it was.
    """

    stands: dict[str, Any] | None
    left_out: dict[str, Any] | None


def coverage_of(reader: Reader, moment: Moment, member_id: str) -> MemberCoverage:
    """Find a member's published coverage; narrow rows of all runs that looked at the member, then the two that count.

    A reader decodes each column that it returns for every member of a run, and the digests are most of a row.
    """
    narrow = ", ".join(("run_id", "is_complete", "incomplete_reason", *_PARTS))
    rows = reader.rows(f"SELECT {narrow} FROM coverage WHERE {equals(member_id=member_id)}", COVERAGE)
    published = [row for row in rows if row["run_id"] in moment.publications]

    def publication(row: dict[str, Any]) -> tuple[Any, ...]:
        return moment.publications[row["run_id"]].number, *_pins(row), row["run_id"]

    stands = max((row for row in published if row["is_complete"]), key=publication, default=None)
    aside = [row for row in published if not row["is_complete"] and row["incomplete_reason"] != "superseded"]
    newer = [row for row in aside if stands is None or _is_newer_in_part(row, stands)]
    left_out = max(newer, key=lambda row: (*_pins(row), row["run_id"]), default=None)
    return MemberCoverage(stands=_whole(reader, stands, member_id), left_out=left_out)


def _whole(reader: Reader, row: dict[str, Any] | None, member_id: str) -> dict[str, Any] | None:
    if row is None:
        return None
    where = equals(run_id=row["run_id"], member_id=member_id)
    found = reader.one(f"SELECT * FROM coverage WHERE {where}", COVERAGE)
    # a table that no run has touched since a column was added lacks it
    return found and dict.fromkeys(COVERAGE.columns.names) | found


def left_out_reason(reader: Reader, row: dict[str, Any], member_id: str) -> str:
    """Return why a run left a member as it was, with what quarantine says while that is kept."""
    where = equals(run_id=row["run_id"], key=member_id) + " AND \"table\" = 'profiles'"
    aside = reader.one(f"SELECT reason FROM quarantine WHERE {where} LIMIT 1", QUARANTINE)
    why = f": {aside['reason']}" if aside else ""
    return f"{row['incomplete_reason']} in {row['run_id']}{why}"


def evaluated_by(stands: dict[str, Any]) -> str:
    """Return the run that retrieved and judged what a row of coverage says; a rollback restates another run's row."""
    return str(stands["restored_run_id"] or stands["run_id"])


def coverage_line(stands: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return how far the run judged the member: what an audit shows of a row."""
    names = ("run_id", "candidates_per_member", "candidates", "rounds", "judged", "accepted", "depth", "stop_reason")
    return stands and {name: stands[name] for name in (*names, "retriever_id")}


def _pins(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[part] for part in _PARTS)


def _is_newer_in_part(row: dict[str, Any], stands: dict[str, Any]) -> bool:
    return any(row[part] > stands[part] for part in _PARTS)
