"""Compare two versions of the catalog, entry by entry; by delta-rs, without Spark.

Reads both versions; holds only the entries that differ.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from jobs.errors import MissingRequirementError, MissingVersionError
from jobs.rules.catalog import EntryChange, EntryState, by_what_matters, entry_changes, opens_no_slot
from jobs.table_version import open_version
from schemas.catalog import CATALOG


class ChangedEntry(NamedTuple):
    """An entry that differs between two versions, and how."""

    qualification_id: str
    changes: tuple[EntryChange, ...]
    then: EntryState | None
    now: EntryState | None


def changed_entries(root: Path, then: int, now: int) -> list[ChangedEntry]:
    """Return the entries that differ between two Delta versions of `catalog`, by kind of change, text and id.

    Raises:
        MissingRequirementError: a version can't be read any more.
    """
    found = []
    for row in _differences(root, then, now):
        before, after = _state(row, "then"), _state(row, "now")
        if changes := entry_changes(before, after):
            found.append(ChangedEntry(row["qualification_id"], changes, before, after))
    return sorted(found, key=lambda entry: by_what_matters(entry.changes, entry.then, entry.now))


def retired_only_since(root: Path, versions: Iterable[int], now: int) -> list[int]:
    """Return the versions since which entries were only retired or removed; one that is gone is none of them."""
    return [version for version in versions if version == now or _opens_no_slot(root, version, now)]


def _opens_no_slot(root: Path, then: int, now: int) -> bool:
    try:
        entries = changed_entries(root, then, now)
    except MissingRequirementError:
        return False
    return all(opens_no_slot(entry.changes) for entry in entries)


def _differences(root: Path, then: int, now: int) -> list[dict[str, Any]]:
    names = ("rows", "category", "text", "status")
    sides = ", ".join(f"{side}.{name} AS {side}_{name}" for side in ("then", "now") for name in names)
    differs = " OR ".join(f"(then.{name} IS DISTINCT FROM now.{name})" for name in names)
    sql = f"""
        SELECT coalesce(then.qualification_id, now.qualification_id) AS qualification_id, {sides}
        FROM {_entries("catalog_then")} AS then FULL OUTER JOIN {_entries("catalog_now")} AS now
        ON then.qualification_id = now.qualification_id WHERE {differs} ORDER BY 1"""
    builder = QueryBuilder()
    for name, version in (("catalog_then", then), ("catalog_now", now)):
        builder.register(name, _whole_version(root, version))
    return list(pa.table(builder.execute(sql).read_all()).to_pylist())


def _whole_version(root: Path, version: int) -> DeltaTable:
    try:
        return open_version(root, CATALOG, version)
    except MissingVersionError as error:
        raise MissingRequirementError(
            f"catalog version {version} can't be read: files that no version of the last SEMLABEL_VACUUM_HOURS needs "
            "are deleted. Name a newer version."
        ) from error


def _entries(name: str) -> str:
    return f"""(
        SELECT qualification_id, count(*) AS rows, max(category) AS category, max(text) AS text, max(status) AS status
        FROM {name} WHERE trim(qualification_id) <> '' GROUP BY qualification_id)"""


def _state(row: dict[str, Any], side: str) -> EntryState | None:
    if row[f"{side}_rows"] is None:
        return None
    return EntryState(*(row[f"{side}_{name}"] for name in ("rows", "category", "text", "status")))
