"""The state of a run follows from its events alone, and the list of runs says where one failed and how long a plan
took.
"""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.list_runs import list_runs, show_run
from jobs.render import print_run, print_runs
from jobs.rules.run_state import run_state
from jobs.run_failure import fail_run
from jobs.settings import Settings
from jobs.table_admin import create_missing
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from tests.published_run import append_events, pins, write_run
from tests.world import settings_under

NOW = datetime(2026, 11, 20, tzinfo=UTC)
EVENTS = ("plan_refresh", "held", "approved", "failed", "stop_engines", "publish_labels")


@given(st.permutations(EVENTS), st.integers(0, len(EVENTS)))
def test_a_run_is_failed_or_held_by_what_came_last_and_published_whatever_came(order: list[str], n: int) -> None:
    times = {"pinned": NOW} | {event: NOW + timedelta(minutes=1 + at) for at, event in enumerate(order[:n])}
    kept = [event for event in order[:n] if event in ("held", "approved")]
    if kept and kept[-1] == "held":
        assert run_state(times) == "held"
    else:
        steps = [event for event in order[:n] if event != "stop_engines"]
        assert run_state(times) == ("failed" if steps and steps[-1] == "failed" else "open")
    assert run_state(times | {"published": NOW}) == "published"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_under(tmp_path)
    create_missing(settings.tables, *UPSTREAM_TABLES, *RUN_TABLES)
    return settings


def test_a_failed_run_says_at_which_step_and_why(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(settings.tables, "r", at=NOW, published=False)
    fail_run(settings.tables, "r", "round_0.score_round", "the engine [hung]")
    (line,) = list_runs(settings, limit=5)
    assert (line["state"], line["failed_step"]) == ("failed", "round_0.score_round")
    assert show_run(settings, "r")["failure"] == {"reason": "the engine [hung]", "step": "round_0.score_round"}
    print_runs([line])
    print_run(show_run(settings, "r"))
    shown = capsys.readouterr().out
    assert shown.count("failed at round_0.score_round") == 2 and "\nthe engine [hung]\n" in shown


def test_a_plan_shows_its_members_and_its_seconds(settings: Settings) -> None:
    pinned = {"pinned": asdict(pins(settings.tables, "r"))}
    events = {"scope_members": {"seconds": 2.0}, "plan_refresh": {"members": 7, "seconds": 1.5}, "planned": {}}
    append_events(settings.tables, "r", pinned | events, at=NOW)
    (line,) = list_runs(settings, limit=5)
    assert (line["state"], line["members"], line["seconds"]) == ("planned", 7, 3.5)
