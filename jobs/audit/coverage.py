"""Which published coverage a member's labels stood on at a moment: `jobs.rules.standing` for one member."""

from dataclasses import dataclass
from typing import Any

from jobs.audit.moment import Moment
from jobs.table_reader import Reader, equals
from schemas.coverage import COVERAGE

_PARTS = ("profiles_delta_version", "catalog_delta_version", "pinned_at")


@dataclass(frozen=True, kw_only=True)
class MemberCoverage:
    """Rows of `coverage`, or None where there is none.

    Attributes:
        stands: the complete row of the last publication: labels are as that run found them.
        left_out: the newest row that says why a later run left the member as it was.
    """

    stands: dict[str, Any] | None
    left_out: dict[str, Any] | None


def coverage_of(reader: Reader, moment: Moment, member_id: str) -> MemberCoverage:
    """Read a member's published coverage; one row a run that looked at the member."""
    rows = reader.rows(f"SELECT * FROM coverage WHERE {equals(member_id=member_id)}", COVERAGE)
    published = [row for row in rows if row["run_id"] in moment.publications]

    def publication(row: dict[str, Any]) -> tuple[Any, ...]:
        return moment.publications[row["run_id"]].number, *_pins(row), row["run_id"]

    stands = max((row for row in published if row["is_complete"]), key=publication, default=None)
    aside = [row for row in published if not row["is_complete"] and row["incomplete_reason"] != "superseded"]
    newer = [row for row in aside if stands is None or _is_newer_in_part(row, stands)]
    return MemberCoverage(
        stands=stands, left_out=max(newer, key=lambda row: (*_pins(row), row["run_id"]), default=None)
    )


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
