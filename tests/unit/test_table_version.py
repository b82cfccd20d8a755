"""A pinned version of a table that maintenance has deleted: one clear error, and nothing that a retry would mend."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.errors import MissingVersionError
from jobs.exit_codes import exit_code_of
from jobs.table_path import table_path
from jobs.table_reader import data_files, query
from jobs.table_upkeep import vacuum
from schemas.profiles import PROFILES
from semlabel_dags.job_task import FINAL_EXIT_CODES


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Profiles at version 1 whose version 0 was vacuumed."""
    for text in ("old", "new"):
        rows = pa.Table.from_pylist([{"member_id": "ann", "profile_text": text}], PROFILES.columns)
        write_deltalake(table_path(tmp_path, PROFILES), rows, mode="overwrite")
    DeltaTable(table_path(tmp_path, PROFILES)).vacuum(0, dry_run=False, enforce_retention_duration=False)
    return tmp_path


@pytest.mark.parametrize("version", [0, 99])
def test_a_version_that_is_gone_is_bad_input_that_says_to_start_a_new_run(root: Path, version: int) -> None:
    sql = "SELECT profile_text FROM profiles"
    for read in (
        lambda: data_files(root, PROFILES, version=version),
        lambda: query(root, sql, PROFILES, versions={"profiles": version}),
    ):
        with pytest.raises(MissingVersionError, match=rf"profiles version {version} .* Start a new run") as raised:
            read()
        assert FINAL_EXIT_CODES[exit_code_of(raised.value)] == "bad input", "no task tries it again"


def test_a_version_that_is_there_is_read_after_a_vacuum_too(root: Path) -> None:
    vacuum(root, PROFILES, hours=0, versions=[])
    assert len(data_files(root, PROFILES, version=1) or []) == 1
    assert query(root, "SELECT profile_text FROM profiles", PROFILES, versions={"profiles": 1}) == [
        {"profile_text": "new"}
    ]
