"""A member's rows of `label_changes`, in the order in which they took effect, and the labels that they leave."""

from typing import Any

from jobs.audit.moment import Moment
from jobs.table_reader import Reader, equals
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS


def changes_of(
    reader: Reader, moment: Moment, member_id: str, qualification_id: str | None = None
) -> list[dict[str, Any]]:
    """Return the member's published changes, oldest first; grows with what runs ever changed of the member."""
    sql = f"SELECT * FROM label_changes WHERE {_which(member_id, qualification_id)}"
    found = [row for row in reader.rows(sql, LABEL_CHANGES) if row["run_id"] in moment.publications]
    return sorted(found, key=lambda row: (moment.publications[row["run_id"]].order, row["qualification_id"]))


def label_rows(
    reader: Reader, moment: Moment, member_id: str, qualification_id: str | None = None
) -> list[dict[str, Any]]:
    """Return the rows of `labels` as they stood at a moment, by rank."""
    if moment.is_now:
        rows = reader.rows(f"SELECT * FROM labels WHERE {_which(member_id, qualification_id)}", LABELS)
    else:
        last = {
            row["qualification_id"]: row["after"] for row in changes_of(reader, moment, member_id, qualification_id)
        }
        rows = [after for after in last.values() if after is not None]
    return sorted(rows, key=lambda row: (row["rank"], row["qualification_id"]))


def _which(member_id: str, qualification_id: str | None) -> str:
    pair = {"member_id": member_id, "qualification_id": qualification_id}
    return equals(**{name: value for name, value in pair.items() if value is not None})
