"""`semlabel updates` and `semlabel kv`: one document with --json, and exit codes that scripts can trust."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from jobs.cli import app
from jobs.errors import CheckFailedError
from tests.published_history import History
from tests.world import settings_under


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("SEMLABEL_HOME", str(tmp_path))
    history = History(settings_under(tmp_path))
    history.put_catalog({"q0": "nursing of patients", "q1": "baking of bread"})
    history.put_profiles({"ann": "nursing"})
    history.run()
    return history


def semlabel(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def document(*arguments: str) -> Any:
    return json.loads(semlabel(*arguments).stdout)


def test_the_store_is_filled_read_checked_and_mended_by_commands(made: History) -> None:
    assert semlabel("kv", "check").exit_code == 1, "it is empty"
    assert document("kv", "feed") == {"runs": 0, "members": 1, "is_rebuilt": True}
    found = document("kv", "get", "ann", "--json")
    assert [label["qualification_id"] for label in found["labels"]] == ["q0"] and found["run_id"] == "run-1"
    shown = semlabel("kv", "get", "ann").stdout
    assert "ann: 1 label(s) of profile version 1" in shown and "store fed to publication 1" in shown
    assert semlabel("kv", "check").stdout == "store and tables agree: 1 member(s)\n"

    made.put_profiles({"ann": "baking"})
    made.run()
    behind = semlabel("kv", "check")
    assert behind.exit_code == 1 and "1 of 1 member(s) differ; 1 run(s) not fed yet" in behind.stdout
    assert document("kv", "rebuild") == {"members": 1}
    assert document("kv", "check", "--json")["agrees"]
    unknown = semlabel("kv", "get", "nobody")
    assert unknown.exit_code == 1 and "no published run has covered the member" in str(unknown.exception)


def test_updates_are_loaded_from_a_file_and_wait(made: History, tmp_path: Path) -> None:
    file = tmp_path / "edits.jsonl"
    rows = [{"member_id": "ann", "profile_version": version, "profile_text": "baking"} for version in (5, 4)]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert document("updates", "load", str(file)) == {"accepted": 1, "superseded": 1}
    assert document("updates", "status", "--json")["waiting"] == 1
    assert "1 update(s) wait, 0 are worked on; the oldest came" in semlabel("updates", "status").stdout


def test_a_load_ends_where_as_many_wait_as_may(made: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMLABEL_UPDATES_WAITING_LIMIT", "2")
    file = tmp_path / "edits.jsonl"
    rows = [{"member_id": member, "profile_version": 1, "profile_text": "baking"} for member in ("ann", "bob", "cat")]
    file.write_text("\n".join(map(json.dumps, rows)))
    ended = semlabel("updates", "load", str(file))
    assert isinstance(ended.exception, CheckFailedError) and "2 updates wait, 2 may" in str(ended.exception)
    assert document("updates", "status", "--json")["waiting"] == 2


def test_a_send_needs_one_of_its_three_changes_and_a_service(made: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMLABEL_UPDATES_PORT", "1")
    assert semlabel("updates", "send", "ann", "--text", "a", "--removed").exit_code == 2
    away = semlabel("updates", "send", "ann", "--removed")
    assert "No update service answers at 127.0.0.1:1" in str(away.exception)
