"""A catalog's version says what its rows are, not how they came there."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.catalog_version import catalog_version_of
from jobs.table_admin import create_missing, current_version
from jobs.table_path import table_path
from schemas.catalog import CATALOG

Row = dict[str, str | None]
A: Row = {"qualification_id": "a", "category": "skill", "text": "weld", "status": "active"}
B: Row = {"qualification_id": "b", "category": "skill", "text": "schweißen", "status": "retired"}
FAULTY: Row = {"qualification_id": None, "category": None, "text": None, "status": None}


def version(root: Path, *commits: Sequence[Row]) -> str:
    create_missing(root, CATALOG)
    for number, rows in enumerate(commits):
        content = pa.Table.from_pylist(list(rows), CATALOG.columns)
        write_deltalake(table_path(root, CATALOG), content, mode="append" if number else "overwrite")
    return catalog_version_of(root, current_version(root, CATALOG))


def test_neither_order_nor_commits_matter(tmp_path: Path) -> None:
    found = version(tmp_path / "1", [A, B, FAULTY])
    assert found == version(tmp_path / "2", [B, FAULTY, A])
    assert found == version(tmp_path / "3", [FAULTY], [B], [A])


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["qualification_id", "category", "text", "status"]), st.text(max_size=3) | st.none())
def test_any_other_value_is_another_version(column: str, value: str | None) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        changed = A | {column: value}
        same = version(Path(folder) / "1", [A, B]) == version(Path(folder) / "2", [changed, B])
    assert same == (changed == A)


def test_an_older_delta_version_keeps_its_own(tmp_path: Path) -> None:
    before = version(tmp_path, [A])
    assert version(tmp_path, [A, B]) != before
    oldest = DeltaTable(table_path(tmp_path, CATALOG)).version() - 1
    assert catalog_version_of(tmp_path, oldest) == before
