"""The state of a run follows from its events alone, and the list of runs says where one failed and how long a plan
took.
"""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import CeilingError
from jobs.ledger import append_event, runs_that_may_publish
from jobs.list_runs import list_runs, show_run
from jobs.plan_refresh import Params as PlanParams
from jobs.plan_refresh import run as plan_refresh
from jobs.render import print_run, print_runs
from jobs.rules.run_state import run_state
from jobs.run_failure import fail_run, reject_run
from jobs.run_ledger import read_run
from jobs.settings import Settings
from jobs.table_admin import create_missing
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.member_plans import FIGURES, MEMBER_PLANS
from tests.published_run import append_events, make_tables, pins, put, write_run
from tests.world import settings_under

NOW = datetime(2026, 11, 20, tzinfo=UTC)
EVENTS = ("plan_refresh", "held", "approved", "failed", "rejected", "stop_engines", "publish_labels")


@given(st.permutations(EVENTS), st.integers(0, len(EVENTS)))
def test_a_run_is_failed_or_held_by_what_came_last_and_published_whatever_came(order: list[str], n: int) -> None:
    times = {"pinned": NOW} | {event: NOW + timedelta(minutes=1 + at) for at, event in enumerate(order[:n])}
    kept = [event for event in order[:n] if event in ("held", "approved")]
    if kept and kept[-1] == "held":
        assert run_state(times) == "held"
    else:
        steps = [event for event in order[:n] if event != "stop_engines"]
        assert run_state(times) == (steps[-1] if steps and steps[-1] in ("failed", "rejected") else "open")
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


def test_a_plan_that_nothing_is_meant_to_follow_ends_its_run_whatever_it_would_cost(tmp_path: Path) -> None:
    settings = settings_under(tmp_path, max_cost_usd=1.0)
    make_tables(settings.tables)
    write_run(settings.tables, "r", at=NOW, published=False)
    row = {"run_id": "r", "member_id": "ann", "reasons": ["first_time"], "came_in": 0, "dropped_out": 0}
    put(settings.tables, MEMBER_PLANS, [row | {f"{f}_{b}": 9 for f in FIGURES for b in ("min", "expected", "max")}])
    with pytest.raises(CeilingError, match="SEMLABEL_MAX_COST_USD"):
        plan_refresh(None, settings, PlanParams(run_id="r"))  # type: ignore[arg-type]  # no member has a scope row
    assert read_run(settings.tables, "r").state == "open"
    plan = plan_refresh(None, settings, PlanParams(run_id="r", ends_run=True))  # type: ignore[arg-type]
    assert read_run(settings.tables, "r").state == "planned" and "SEMLABEL_MAX_COST_USD" in plan["above_ceiling"][0]


def test_a_run_whose_plan_was_rejected_is_over_until_a_step_of_it_ends_well_again(settings: Settings) -> None:
    append_events(settings.tables, "r", {"pinned": asdict(pins(settings.tables, "r")), "plan_refresh": {}}, at=NOW)
    for _ in range(2):  # asked again, and rejected again
        reject_run(settings.tables, "r")
        run = read_run(settings.tables, "r")
        assert run.state == "rejected" and run.is_over(datetime.now(UTC), idle_hours=0.0)
        append_event(settings.tables, "r", "start_engines", {}, attempt=run.n_times["rejected"])
        assert read_run(settings.tables, "r").state == "open"


@pytest.mark.parametrize(
    ("events", "hours_ago", "may_publish"),
    [
        ({"plan_refresh": {}}, 1, True),
        ({"plan_refresh": {}, "held": {}}, 1, True),
        ({"plan_refresh": {}, "failed": {}}, 1, True),  # its task may be cleared at any moment
        ({"plan_refresh": {}, "failed": {}}, 49, False),
        ({"plan_refresh": {}, "published": {}}, 1, False),
        ({"plan_refresh": {}, "planned": {}}, 1, False),
        ({"piloted": {}, "planned": {}, "stop_engines": {}}, 1, False),
        ({"plan_refresh": {}, "rejected": {}}, 1, False),
        ({"plan_refresh": {}, "rejected": {}, "start_engines": {}}, 1, True),
    ],
)
def test_only_a_run_that_is_not_over_may_be_about_to_publish(
    settings: Settings, events: dict[str, Any], hours_ago: int, may_publish: bool
) -> None:
    pinned = {"pinned": asdict(pins(settings.tables, "r"))}
    append_events(settings.tables, "r", pinned | events, at=datetime.now(UTC) - timedelta(hours=hours_ago))
    append_event(settings.tables, "maintenance", "maintain_tables", {})
    assert (runs_that_may_publish(settings.tables, idle_hours=48) == {"r"}) == may_publish
    assert runs_that_may_publish(settings.tables, idle_hours=48) <= {"r"}
