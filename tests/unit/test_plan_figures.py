"""The sums of a plan, what they rest on, and how a person sees them; from tables written by delta-rs alone."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs import render_plan
from jobs.catalog_diff import catalog_diff
from jobs.errors import MissingRequirementError
from jobs.pins import Pins
from jobs.plan_figures import plan_figures
from jobs.rules.forecast import RoundFacts
from jobs.rules.reasons import CandidateMoves, plan_reasons
from jobs.rules.survival import EveryoneGoesOn
from jobs.run_price import spent_at
from jobs.settings import Settings
from jobs.survival_history import experience_of
from mis_scoring.core.rounds import RoundRule
from schemas.member_plans import FIGURES, MEMBER_PLANS
from schemas.round_outcomes import ROUND_OUTCOMES
from tests.published_run import append_events, make_tables, pins, put, write_run
from tests.world import settings_under

AT = datetime(2026, 11, 1, tzinfo=UTC)
RULE = RoundRule(candidates_per_round=4, stop_below=0.25)
UNKNOWN_ROUND = RoundFacts(pairs=4, known=0, accepted=0)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = settings_under(tmp_path, engines_usd_per_hour=36.0)
    make_tables(made.tables)
    return made


def plan_row(
    run_id: str, member_id: str, reasons: Sequence[str], **figures: tuple[float, float, float]
) -> dict[str, Any]:
    """A row of `member_plans`; each figure as (min, expected, max)."""
    every = dict.fromkeys(FIGURES, (0, 0.0, 0)) | figures
    bounds = {
        f"{name}_{bound}": value
        for name, figure in every.items()
        for bound, value in zip(("min", "expected", "max"), figure, strict=True)
    }
    return {"run_id": run_id, "member_id": member_id, "reasons": list(reasons), "came_in": 0, "dropped_out": 0} | bounds


def outcomes(pinned: Pins, round: int, *, members: int, went_on: int, **more: Any) -> list[dict[str, Any]]:
    """Members of whom some accept half of their pairs and go on, and the others accept none."""
    return [
        {
            "run_id": pinned.run_id,
            "round": round,
            "member_id": f"m{number}",
            "judged": 4,
            "accepted": 2 if number < went_on else 0,
            "missing": 0,
            "goes_on": number < went_on,
            "reason": "goes_on" if number < went_on else "accepted_too_little",
            **more,
        }
        for number in range(members)
    ]


def test_a_plan_sums_its_members_up_and_prices_them(settings: Settings) -> None:
    root = settings.tables
    now = replace(pins(root, "now"), stop_sample_share=1.0)
    rows = [
        plan_row("now", "ann", ["catalog_entry_added", "retrieval_moved"], rounds=(1, 1.5, 2), tokens=(100, 150.0, 300),
                 pairs_to_score=(2, 3.04, 6), label_changes=(0, 0.5, 2), past_stop_pairs=(0, 2.96, 4),
                 past_stop_tokens=(0, 150.0, 200)) | {"came_in": 2, "dropped_out": 1},
        plan_row("now", "bob", ["retired"], rounds=(2, 2.0, 2), pairs_reused=(8, 8.0, 8), label_changes=(1, 1.0, 1)),
        plan_row("now", "cat", ["member_removed"], label_changes=(3, 3.0, 3)),
        plan_row("other", "dan", ["first_time"], pairs_to_score=(9, 9.0, 9)),
    ]  # fmt: skip
    put(root, MEMBER_PLANS, rows)
    write_run(root, "weekly_full-1", at=AT)
    append_events(
        root, "weekly_full-1", {"round_2_score_round": {"scored": 2000, "tokens": 820, "seconds": 2.0}}, at=AT
    )
    found = plan_figures(settings, now, experience_of(root, now))
    assert (found["members"], found["members_removed"]) == (2, 1)
    assert found["reasons"] == {"catalog_entry_added": 1, "member_removed": 1, "retired": 1, "retrieval_moved": 1}
    assert found["rounds"] == [
        {"round": 0, "members_min": 2, "members_max": 2},
        {"round": 1, "members_min": 1, "members_max": 2},
    ]
    assert found["n_rounds"] == 2
    assert found["moved"] == {"members": 1, "came_in": 2, "dropped_out": 1}
    assert found["pairs_to_score"] == {"min": 2, "expected": 3.0, "max": 6}
    assert found["pairs_reused"] == {"min": 8, "expected": 8, "max": 8}
    assert found["labels_that_may_change"] == {"min": 4, "expected": 4.5, "max": 6}
    assert found["gpu_seconds"] == {"min": 1.0, "expected": 1.5, "max": 3.0}, "1,000 tokens in 10 s"
    assert found["cost"] == {"min": 0.01, "expected": 0.015, "max": 0.03}
    sample = found["stop_sample"]
    assert sample["pairs"] == {"min": 0, "expected": 3.0, "max": 4} and sample["members"] == 2
    assert sample["cost"] == {"min": 0.0, "expected": 0.015, "max": 0.02}
    assert [spent_at(found, "pairs_to_score", bound) for bound in ("min", "expected", "max")] == [6, 6, 6]
    assert spent_at(found, "cost", "max") == 0.03, "the longest way of a sampled member leaves nothing after it"


def test_nobody_in_scope_costs_nothing(settings: Settings) -> None:
    now = pins(settings.tables, "now")
    found = plan_figures(settings, now, experience_of(settings.tables, now))
    assert found["members"] == 0 and found["reasons"] == {} and found["rounds"] == []
    assert all(found[name]["max"] == 0 for name in ("pairs_to_score", "tokens", "gpu_seconds", "cost"))


def test_expected_rests_on_the_last_run_that_decided_alike(settings: Settings) -> None:
    root, now = settings.tables, pins(settings.tables, "now")
    nothing = experience_of(root, now)
    assert isinstance(nothing.survival, EveryoneGoesOn) and "an assumption" in nothing.basis
    for days, run_id, members, went_on in [
        (1, "weekly_full-1", 60, 45),
        (2, "weekly_full-2", 60, 15),
        (3, "daily-3", 9, 9),
    ]:
        pinned = write_run(root, run_id, at=AT + timedelta(days=days))
        put(root, ROUND_OUTCOMES, outcomes(pinned, 0, members=members - 2, went_on=went_on - 1))
    found = experience_of(root, now)
    assert found.run_id == "weekly_full-2" and found.is_comparable, "a run of few members says little"
    assert found.survival.chance_to_go_on(0, UNKNOWN_ROUND, RULE) == 0.25
    other = experience_of(root, replace(now, artifact_id="another"))
    assert not other.is_comparable and "decided with another labeler or threshold" in other.basis
    assert experience_of(root, replace(now, candidates_per_round=5)).run_id is None, "rounds of another size"


def test_a_pilot_stands_in_for_a_comparable_run_and_tells_of_newcomers(settings: Settings) -> None:
    root, now = settings.tables, pins(settings.tables, "now", kind="catalog_backfill")
    pilot = replace(now, run_id="pilot")
    in_part = {"scored": 2, "scored_accepted": 0}  # the two that were known are accepted, where any are
    put(root, ROUND_OUTCOMES, outcomes(pilot, 0, members=50, went_on=10, **in_part))
    append_events(root, "pilot", {"pinned": asdict(pilot)}, at=AT)
    assert experience_of(root, now).run_id is None, "it has not come to its end"
    append_events(root, "pilot", {"piloted": {}}, at=AT)
    found = experience_of(root, now)
    assert (found.run_id, found.is_comparable) == ("pilot", True) and "a pilot of 50 members" in found.basis
    assert found.survival.chance_to_go_on(0, UNKNOWN_ROUND, RULE) == 0.2
    assert found.newcomers_of == "pilot" and found.newcomer_ratio == pytest.approx(1 / 21), "none of 20 promised"
    assert "0.05 times as often" in found.basis
    daily = experience_of(root, replace(now, kind="daily_incremental"))
    assert daily.run_id == "pilot" and daily.newcomers_of is None, "what is new to a daily run is something else"
    large = write_run(root, "weekly_full-1", at=AT)
    put(root, ROUND_OUTCOMES, outcomes(large, 0, members=60, went_on=30))
    found = experience_of(root, now)
    assert (found.run_id, found.newcomers_of) == ("weekly_full-1", "pilot"), "more members, who knew all pairs or none"


def moves(**counts: int) -> CandidateMoves:
    names = ("added", "text_changed", "retired", "removed", "came_in", "dropped_out", "moved")
    return CandidateMoves(**dict.fromkeys(names, 0) | counts)


def test_a_changed_catalog_is_told_by_what_it_does_to_the_candidates() -> None:
    assert plan_reasons(("catalog_changed",), moves(added=1, retired=2, moved=1)) == (
        "catalog_entry_added",
        "retired",
        "retrieval_moved",
    )
    assert plan_reasons(("catalog_changed", "scorer"), moves(text_changed=1)) == ("scorer", "catalog_text_changed")
    assert plan_reasons(("catalog_changed",), moves()) == ("catalog_changed",), "it touches none of them"
    assert plan_reasons(("profile_changed", "catalog_changed"), None) == ("profile_changed", "catalog_changed")


def test_a_plan_and_a_diff_are_shown_whole(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    root = settings.tables
    write_run(root, "weekly_full-1", at=AT)
    now = pins(root, "now")
    put(root, MEMBER_PLANS, [plan_row("now", "ann", ["retired"], rounds=(1, 1.0, 1), label_changes=(1, 1.0, 1))])
    plan = plan_figures(settings, now, experience_of(root, now)) | {"run_id": "now", "above_ceiling": ["Too much."]}
    plan["pilot"] = {"run_id": "pilot", "members": 50, "pairs": 4321, "tokens": 9}
    render_plan.print_plan(json.loads(json.dumps(plan)))
    shown = capsys.readouterr().out
    assert (
        "retired" in shown
        and "labels that may change" in shown
        and "an assumption" in shown
        and "Too much." in shown
        and "4,321 pairs scored" in shown
    )
    render_plan.print_catalog_diff(catalog_diff(settings))
    assert "The two are the same" in capsys.readouterr().out


def test_a_diff_says_whom_the_plan_moved_that_came_before_its_own_backfill(settings: Settings) -> None:
    root = settings.tables
    write_run(root, "weekly_full-1", at=AT)
    digest = catalog_diff(settings)["now"]["catalog_version"]
    for number, (run_id, version) in enumerate((("first", digest), ("after", digest), ("other", "another"))):
        moved = {"moved": {"members": 0 if run_id == "after" else 9, "came_in": 3, "dropped_out": 2}}
        events = {"pinned": asdict(replace(pins(root, run_id), catalog_version=version)), "plan_refresh": moved}
        append_events(root, run_id, events, at=AT + timedelta(days=number + 1))
    assert catalog_diff(settings)["moved"] == {"run_id": "first", "members": 9, "came_in": 3, "dropped_out": 2}


def test_a_catalog_version_that_nobody_knows_is_refused(settings: Settings) -> None:
    with pytest.raises(MissingRequirementError, match="No run is published yet"):
        catalog_diff(settings)
    with pytest.raises(MissingRequirementError, match=r"No catalog version 'abc': give a Delta version of 0 to 1"):
        catalog_diff(settings, "0", "abc")
