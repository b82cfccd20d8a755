"""All labels of one member, now or at an earlier moment."""

from typing import Any

from jobs.audit.changes import label_rows
from jobs.audit.moment import moment_of
from jobs.audit.reader import Reader, is_in
from jobs.settings import Settings
from schemas.catalog import CATALOG


def labels_of(settings: Settings, member_id: str, *, as_of: str | None = None) -> list[dict[str, Any]]:
    """Return a member's labels by rank: the row of `labels`, with the `category` and `text` that the catalog has now.

    Args:
        as_of: a published run, or a time as ISO 8601; None: now.
    Raises:
        DataError: `as_of` is neither.
    """
    reader = Reader(settings.tables)
    rows = label_rows(reader, moment_of(reader, as_of), member_id)
    entries = _entries(reader, {row["qualification_id"] for row in rows})
    return [row | entries.get(row["qualification_id"], {"category": None, "text": None}) for row in rows]


def _entries(reader: Reader, ids: set[str]) -> dict[str, dict[str, Any]]:
    sql = f"SELECT qualification_id, category, text FROM catalog WHERE {is_in('qualification_id', ids)}"
    return {row.pop("qualification_id"): row for row in reader.rows(sql, CATALOG)}
