"""Who asks about an id that no table has is told which one it is, and what is like it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from jobs.audit.known import ids_alike, unknown_ids
from jobs.cli import app
from jobs.errors import MissingRequirementError
from tests.published_history import History
from tests.world import settings_under


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Ann has a label of q-nursing; q-baking and bob have gone since."""
    history = History(settings_under(tmp_path))
    history.put_catalog({"q-baking": "baking", "q-nursing": "nursing"})
    history.put_profiles({"member-ann": "baking and nursing", "member-bob": "baking"})
    history.run()
    history.put_catalog({"q-nursing": "nursing"})
    history.put_profiles({"member-ann": "nursing"})
    history.run()
    return history


def test_only_what_no_table_ever_had_is_unknown(history: History) -> None:
    assert unknown_ids(history.settings, "member-ann", "q-nursing") == []
    assert unknown_ids(history.settings, "member-bob", "q-baking") == [], "both are gone, and what they were is known"
    (member,) = unknown_ids(history.settings, "member-eve", "q-nursing")
    assert "No member 'member-eve'" in member and "Alike: member-ann" in member
    member, qualification = unknown_ids(history.settings, "eve", "nursing")
    assert "No member 'eve'" in member and "Alike" not in member
    assert "No qualification 'nursing'" in qualification and "q-nursing (nursing)" in qualification


@pytest.mark.parametrize("command", [["audit", "eve"], ["audit", "member-ann", "q9"], ["history", "member-ann", "q9"]])
def test_the_answer_stands_on_stdout_and_the_exit_code_says_that_something_is_missing(
    history: History, command: list[str]
) -> None:
    found = CliRunner().invoke(app, [*command, "--json"], env={"SEMLABEL_HOME": str(history.settings.home)})
    assert found.exit_code == 4 and found.stdout.count("\n") == 1 and found.stderr.startswith("No ")


def test_without_tables_the_way_to_some_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="semlabel sample"):
        unknown_ids(settings_under(tmp_path), "ann")


@given(st.text(max_size=30))
def test_ids_are_alike_by_three_characters_at_least(typed: str) -> None:
    asked: list[str] = []

    def find(part: str) -> list[str]:
        asked.append(part)
        return ["a", "b", "c", "d"] if len(part) <= 4 else []

    found = ids_alike(typed, find)
    assert all(len(part) >= 3 and typed.startswith(part) for part in asked) and len(asked) <= 4
    assert found in ([], ["a", "b", "c"])
