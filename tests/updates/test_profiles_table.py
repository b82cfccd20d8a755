"""`profiles` after a merge of updates: only what is newer wins, whoever wrote the row that stands."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.table_admin import create_missing
from jobs.table_path import table_path
from jobs.table_reader import query
from jobs.updates.profiles_table import merge_newer, not_yet_written
from mis_scoring.core.identity import text_hash
from schemas.profiles import PROFILES
from tests.published_run import put
from tests.updates.test_inbox import edit


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """ann at version 3, bob at 5, cat without a version."""
    create_missing(tmp_path, PROFILES)
    rows = [("ann", 3), ("bob", 5), ("cat", None)]
    put(tmp_path, PROFILES, [{"member_id": m, "profile_text": "old", "profile_version": v} for m, v in rows])
    return tmp_path


def profiles(root: Path) -> dict[str, tuple[str, int]]:
    rows = query(root, "SELECT * FROM profiles", PROFILES)
    return {row["member_id"]: (row["profile_text"], row["profile_version"]) for row in rows}


def test_a_newer_row_is_written_an_older_or_equal_one_never_is_and_doing_it_again_changes_nothing(root: Path) -> None:
    updates = [edit("ann", 4, "new"), edit("bob", 5, "new"), edit("cat", 1, "new"), edit("dan", 1, "new")]
    merge_newer(root, updates)
    expected = {"ann": ("new", 4), "bob": ("old", 5), "cat": ("new", 1), "dan": ("new", 1)}
    assert profiles(root) == expected
    version = DeltaTable(table_path(root, PROFILES)).version()
    merge_newer(root, updates)
    assert profiles(root) == expected and DeltaTable(table_path(root, PROFILES)).version() == version
    row = query(root, "SELECT * FROM profiles WHERE member_id = 'ann'", PROFILES)[0]
    assert row["profile_hash"] == text_hash("new") and row["updated_at"] is not None


def test_a_member_is_removed_by_a_newer_removal_only(root: Path) -> None:
    merge_newer(root, [edit("ann", 4, None), edit("bob", 4, None), edit("eve", 1, None)])
    assert profiles(root).keys() == {"bob", "cat"}


def test_what_the_source_has_only_announced_is_told_from_what_it_has_written(root: Path) -> None:
    written = [edit("ann", 3, "old"), edit("bob", 4), edit("eve", 2, None)]
    announced = [edit("ann", 4), edit("cat", 1), edit("dan", 1), edit("bob", 6, None)]
    assert not_yet_written(root, [*written, *announced]) == announced
