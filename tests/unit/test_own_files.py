"""Own data's files: what is wrong with them, said by file and line, before a table is touched."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from jobs.cli import app
from jobs.command_output import confirm_replacing
from jobs.csv_shape import shape_of_lines
from jobs.own_files import file_faults
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES


def faults_of(text: str) -> list[str]:
    return shape_of_lines(io.StringIO(text, newline="")).faults


def test_rows_with_too_few_and_too_many_fields_are_named_by_the_line_they_begin_at() -> None:
    found = faults_of('member_id,profile_text\na,x\nb\n\n"c","two\nlines"\nd,e,f\ng\n')
    assert [fault.split(":")[0] for fault in found] == ["line 3, 8", "line 7"]
    assert "1 field(s) where the header names 2" in found[0]
    assert "3 field(s) where the header names 2" in found[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "its first line must name the columns"),
        ("member_id,profile_text\n", "holds no row"),
        ('member_id,profile_text\na,"never closed\n', "line 2: unexpected end of data"),
        ('member_id,profile_text\na,"a "quote" in it"\n', "line 2: ',' expected"),
    ],
)
def test_a_file_that_is_no_table_says_why(text: str, expected: str) -> None:
    assert expected in faults_of(text)[0]


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=2), min_size=1))
def test_whatever_is_quoted_has_the_right_shape(rows: list[list[str]]) -> None:
    lines = [",".join('"' + text.replace('"', '""') + '"' for text in row) for row in [["a", "b"], *rows]]
    assert faults_of("\r\n".join(lines)) == []


def test_columns_and_rows_of_all_files_of_a_folder_are_listed_at_once(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("member_id,text\na,x\nb\n")
    (tmp_path / "2.csv").write_text("member_id,profile_text\nc\n")
    (tmp_path / "3.csv").write_bytes("member_id,profile_text\nd,Zoë\n".encode("latin-1"))
    found = file_faults(tmp_path, PROFILES)
    assert [fault.split("/")[-1][:5] for fault in found.rows] == ["1.csv", "2.csv"], "rows that need no look at a value"
    listed = "\n".join(found.file + found.rows)
    for fault in (
        "1.csv: column profile_text is missing",
        "1.csv: column text is unknown",
        "1.csv: line 3: 1 field(s)",
        "2.csv: line 2: 1 field(s)",
        "2.csv: has another header than 1.csv",
        "3.csv: is no UTF-8 text",
    ):
        assert fault in listed, listed


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("\ufeffmember_id,profile_text\na,x\n", encoding="utf-8")
    assert file_faults(tmp_path / "p.csv", PROFILES) == ([], [])


def test_parquet_is_told_from_what_is_none(tmp_path: Path) -> None:
    pq.write_table(pa.table({"qualification_id": ["q"], "text": [["sews", "mends"]]}), tmp_path / "c.parquet")
    assert file_faults(tmp_path / "c.parquet", CATALOG).file == [
        f"{tmp_path / 'c.parquet'}: column category is missing; it needs qualification_id, category, text",
        f"{tmp_path / 'c.parquet'}: column text holds list<element: string>, not one value",
    ]
    (tmp_path / "c.txt").write_text("qualification_id\n")
    assert "neither CSV" in file_faults(tmp_path / "c.txt", CATALOG).file[0]
    (tmp_path / "empty").mkdir()
    assert "holds no CSV or Parquet file" in file_faults(tmp_path / "empty", CATALOG).file[0]


def test_asking_names_the_tables_and_their_rows_and_says_yes_where_nobody_answers() -> None:
    ask = typer.Typer()
    ask.command()(lambda: confirm_replacing(Path("tables"), {"profiles": 1200, "catalog": 3}))
    unanswered = CliRunner().invoke(ask, input="")
    assert "profiles (1,200 row(s)) and catalog (3 row(s)) under tables" in unanswered.stderr
    assert "--yes goes on" in unanswered.stderr
    assert unanswered.exit_code == 2
    declined = CliRunner().invoke(ask, input="n\n")
    assert (declined.exit_code, "Nothing was done" in declined.stderr) == (1, True)
    assert CliRunner().invoke(ask, input="y\n").exit_code == 0


def test_load_wants_to_know_whether_rows_are_all_or_some() -> None:
    assert CliRunner().invoke(app, ["load"]).exit_code == 2
