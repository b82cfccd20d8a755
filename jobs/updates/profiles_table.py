"""Bring `profiles` up to what the source has sent: a merge in which only a newer version of a member wins.

Where the source writes `profiles` itself (`updates_write_profiles` is off), an update only says that the row changed:
its members are worked on once the table has it.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from jobs.table_path import table_path
from jobs.table_reader import is_in, query
from jobs.table_writer import check_rows, overtaken_try_again
from jobs.updates.batch_inputs import erased_members
from jobs.updates.update import ProfileUpdate
from mis_scoring.core.identity import text_hash
from schemas.profiles import PROFILES

_IS_NEWER = "old.profile_version IS NULL OR new.profile_version > old.profile_version"


def write_profiles(root: Path, updates: Sequence[ProfileUpdate]) -> None:
    """Write what is newer; of who was erased nothing but a removal, which the source still owes."""
    erased = erased_members(root, [update.member_id for update in updates])
    merge_newer(root, [one for one in updates if one.profile_text is None or one.member_id not in erased])


@overtaken_try_again
def merge_newer(root: Path, updates: Sequence[ProfileUpdate]) -> None:
    """Write the updates that are newer than the rows that stand, in one commit; none where none is.

    Rows are removed in the same commit. A second merge of the same updates changes nothing.
    """
    if not updates:
        return
    now = datetime.now(UTC)
    rows = [
        {
            "member_id": update.member_id,
            "profile_text": update.profile_text,
            "profile_version": update.profile_version,
            "updated_at": now,
            "profile_hash": None if update.profile_text is None else text_hash(update.profile_text),
        }
        for update in updates
    ]
    removed = pa.array([update.profile_text is None for update in updates])
    content = check_rows(rows, PROFILES).append_column("is_removed", removed)
    columns = {name: f"new.{name}" for name in PROFILES.columns.names}
    merge = DeltaTable(table_path(root, PROFILES)).merge(
        content, "old.member_id = new.member_id", source_alias="new", target_alias="old"
    )
    merge.when_matched_delete(f"new.is_removed AND ({_IS_NEWER})").when_matched_update(
        columns, f"NOT new.is_removed AND ({_IS_NEWER})"
    ).when_not_matched_insert(columns, "NOT new.is_removed").execute()


def not_yet_written(root: Path, updates: Collection[ProfileUpdate]) -> list[ProfileUpdate]:
    """Return the updates that the source has announced and not written to `profiles` yet."""
    is_one_of_them = is_in("member_id", {update.member_id for update in updates})
    sql = f"SELECT member_id, max(profile_version) AS version FROM profiles WHERE {is_one_of_them} GROUP BY member_id"
    versions = {row["member_id"]: row["version"] for row in query(root, sql, PROFILES)}
    return [update for update in updates if not _is_written(update, versions)]


def _is_written(update: ProfileUpdate, versions: dict[str, int | None]) -> bool:
    if update.member_id not in versions:
        return update.profile_text is None
    version = versions[update.member_id]
    return version is not None and version >= update.profile_version
