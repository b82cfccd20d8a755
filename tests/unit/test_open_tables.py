"""A table that stays open is always read as it is now."""

import shutil
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from jobs.table_reader import Reader
from schemas.table import TEXT, Table, required

ONES = Table(name="ones", key=("one",), columns=pa.schema([required("one", TEXT)]), personal="none", kept="a test")


def put(root: Path, *values: str, mode: str = "append") -> None:
    write_deltalake(str(root / ONES.name), pa.Table.from_pylist([{"one": v} for v in values], ONES.columns), mode=mode)


def found(root: Path) -> list[str]:
    return [row["one"] for row in Reader(root).rows("SELECT one FROM ones ORDER BY one", ONES)]


def test_each_answer_sees_what_was_committed_before_it(tmp_path: Path) -> None:
    assert found(tmp_path) == [], "nobody has made it"
    put(tmp_path, "a")
    reader = Reader(tmp_path)
    assert reader.rows("SELECT one FROM ones", ONES) == [{"one": "a"}]
    put(tmp_path, "b")
    assert found(tmp_path) == ["a", "b"]
    assert reader.rows("SELECT one FROM ones", ONES) == [{"one": "a"}], "one reader is of one state"
    DeltaTable(tmp_path / ONES.name).optimize.compact()
    DeltaTable(tmp_path / ONES.name).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert found(tmp_path) == ["a", "b"], "after a compaction and a vacuum"
    put(tmp_path, "c", mode="overwrite")
    assert found(tmp_path) == ["c"]


def test_a_table_that_was_made_anew_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    put(tmp_path, "a")
    put(tmp_path, "b")
    assert found(tmp_path) == ["a", "b"]
    for new in (("c",), ("d", "e", "f")):  # fewer commits than there were, and more
        shutil.rmtree(tmp_path / ONES.name)
        for value in new:
            put(tmp_path, value)
        assert found(tmp_path) == list(new)
