"""Whether any table knows a member or a qualification, and which ids are like one that none knows."""

from collections.abc import Callable, Sequence
from typing import Any

from jobs.audit.search import find_members, find_qualifications
from jobs.settings import Settings
from jobs.table_admin import require
from jobs.table_reader import Reader, equals
from jobs.tombstone import tombstone_of
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.profiles import PROFILES
from schemas.table import Table

_OF_A_MEMBER = (PROFILES, LABELS, COVERAGE, LABEL_CHANGES)
_OF_A_QUALIFICATION = (CATALOG, LABELS, LABEL_CHANGES)
_LIKE = 3  # ids that are shown
_SHORTEST = 3  # characters that two ids must share to be alike


def knows_member(reader: Reader, member_id: str) -> bool:
    """Whether there is, or ever was, such a member, erased ones included."""
    return _stands_in(reader, _OF_A_MEMBER, member_id=member_id) or tombstone_of(reader, member_id) is not None


def knows_qualification(reader: Reader, qualification_id: str) -> bool:
    """Whether the catalog has such an entry, or anybody ever had it as a label."""
    return _stands_in(reader, _OF_A_QUALIFICATION, qualification_id=qualification_id)


def unknown_ids(settings: Settings, member_id: str, qualification_id: str | None = None) -> list[str]:
    """Return one sentence for the member, and one for the qualification, if it is unknown: what it may have been.

    Raises:
        MissingRequirementError: there are no tables.
    """
    reader = Reader(settings.tables)
    if not reader.has(PROFILES):
        require(settings.tables, PROFILES, CATALOG)
    found = []
    if not knows_member(reader, member_id):
        like = ids_alike(member_id, lambda typed: [row["member_id"] for row in _members(settings, typed)])
        found.append(f"No member {member_id!r}, neither in profiles nor in what any run left. {_try(like)}")
    if qualification_id is not None and not knows_qualification(reader, qualification_id):
        like = ids_alike(qualification_id, lambda typed: [_named(row) for row in _entries(settings, typed)])
        found.append(f"No qualification {qualification_id!r}: not in the catalog, and never a label. {_try(like)}")
    return found


def ids_alike(typed: str, find: Callable[[str], Sequence[str]]) -> list[str]:
    """Return the first ids that the whole, or else the first three, two or one quarters of what was typed find."""
    parts = dict.fromkeys(typed[: len(typed) * quarters // 4] for quarters in (4, 3, 2, 1))
    return next((list(ids)[:_LIKE] for part in parts if len(part) >= _SHORTEST and (ids := find(part))), [])


def _members(settings: Settings, typed: str) -> list[dict[str, Any]]:
    return find_members(settings, typed, limit=_LIKE)


def _entries(settings: Settings, typed: str) -> list[dict[str, Any]]:
    return find_qualifications(settings, typed, limit=_LIKE)


def _named(entry: dict[str, Any]) -> str:
    return f"{entry['qualification_id']} ({entry['text']})"


def _try(like: Sequence[str]) -> str:
    alike = f"Alike: {', '.join(like)}. " if like else ""
    return f"{alike}`semlabel web` searches by id and text."


def _stands_in(reader: Reader, tables: Sequence[Table], **ids: str) -> bool:
    return any(
        reader.one(f"SELECT 1 AS one FROM {table.name} WHERE {equals(**ids)} LIMIT 1", table) is not None
        for table in tables
    )
