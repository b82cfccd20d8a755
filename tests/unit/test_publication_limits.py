"""What a publication may touch before a person has looked, what a plan may cost, and what both say past a limit."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobs import hold
from jobs.errors import CeilingError, CheckFailedError, HeldError, MissingRequirementError
from jobs.exit_codes import exit_code_of
from jobs.hold import approve, hold_past_limits, limits_of
from jobs.ledger import APPROVED, HELD, PUBLISHED, append_event, event_payload
from jobs.list_runs import list_runs
from jobs.metrics.ledger_figures import ledger_samples
from jobs.metrics.names import JOB_SECONDS
from jobs.rules.guards import GuardLimits, PublicationFigures, reasons_to_hold
from jobs.run_ledger import RunLedger, read_run, read_runs
from jobs.run_price import cost_of, measured_tokens_per_s, refuse_above_ceiling, seconds_of
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_reader import pins_of
from schemas.runs import RUNS
from tests.world import settings_under

LIMITS = GuardLimits(quarantined=0.1, incomplete=0.1, removed=0.2, category_change=0.3, ignored_below=20)
QUIET: dict[str, Any] = {
    "members": 500,
    "quarantined": 2,
    "incomplete": 0,
    "labels": 7000,
    "removed_in_all": 10,
    "by_category": {"skill": 6000, "licence": 1000},
    "added": {"skill": 100},
    "removed": {"skill": 90, "licence": 10},
}


def held(**changes: Any) -> list[str]:
    return reasons_to_hold(PublicationFigures(**QUIET | changes), LIMITS)


def test_a_quiet_publication_goes_through() -> None:
    assert held() == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"quarantined": 51}, "members quarantined: 51 of 500 (10.2%), limit 10.0% (SEMLABEL_HOLD_QUARANTINED)"),
        ({"incomplete": 51}, "members incomplete: 51 of 500 (10.2%), limit 10.0% (SEMLABEL_HOLD_INCOMPLETE)"),
        ({"removed_in_all": 1401}, "labels removed: 1401 of 7000 (20.0%), limit 20.0% (SEMLABEL_HOLD_REMOVED)"),
        (
            {"added": {"licence": 320}},
            "labels of category licence, net change: 310 of 1000 (31.0%), limit 30.0% (SEMLABEL_HOLD_CATEGORY_CHANGE)",
        ),
        (
            {"removed": {"licence": 301}},
            "labels of category licence, net change: 301 of 1000 (30.1%), limit 30.0% (SEMLABEL_HOLD_CATEGORY_CHANGE)",
        ),
    ],
    ids=["quarantined", "incomplete", "removed", "category grows", "category shrinks"],
)
def test_past_a_limit_the_figure_the_limit_and_the_setting_are_named(changes: dict[str, Any], sentence: str) -> None:
    assert held(**changes) == [sentence]


def test_every_limit_that_is_passed_is_named_at_once() -> None:
    assert len(held(quarantined=60, incomplete=70, removed_in_all=7000, removed={"skill": 6000, "licence": 1000})) == 5


def test_the_limit_itself_goes_through() -> None:
    assert held(quarantined=50, removed_in_all=1400, added={"licence": 310}) == []


def test_the_first_publication_is_never_held() -> None:
    assert held(labels=0, by_category={}, quarantined=400, incomplete=90) == []


def test_few_members_and_labels_hold_nothing_whatever_share_they_are() -> None:
    few = {"members": 4, "quarantined": 2, "labels": 6, "by_category": {"skill": 6}}
    gone = {"added": {}, "removed_in_all": 6, "removed": {"skill": 6}}
    assert held(**few, **gone) == []
    figures = PublicationFigures(**QUIET | few | gone)
    assert len(reasons_to_hold(figures, replace(LIMITS, ignored_below=0))) == 3


def test_a_share_of_one_turns_a_limit_off(tmp_path: Path) -> None:
    limits = limits_of(settings_under(tmp_path, hold_removed=1.0))
    assert reasons_to_hold(PublicationFigures(**QUIET | {"removed_in_all": 7000}), limits) == []


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A ledger with a held run."""
    settings = settings_under(tmp_path)
    create_missing(settings.tables, RUNS)
    pinned = {"run_id": "r", "kind": "weekly_full", "trigger_id": "t", "pinned_at": "2026-01-01T00:00:00+00:00"}
    numbers = dict.fromkeys(("profiles_delta_version", "catalog_delta_version", "candidates_per_round"), 1)
    texts = dict.fromkeys(
        ("catalog_version", "labeler", "labeler_version", "artifact_id", "artifact_folder", "retriever_id", "engine"),
        "x",
    )
    rest = {"scorer_id": "s", "threshold": 0.5, "stop_below": 0.1, "candidates_per_member": 5}
    validation = {"is_validated": True, "unvalidated_reason": ""}
    append_event(settings.tables, "r", "pinned", pinned | numbers | texts | rest | validation)
    append_event(settings.tables, "r", HELD, {"reasons": ["labels removed: all"], "figures": {}})
    return settings


def test_a_held_run_is_shown_and_approved_once(settings: Settings) -> None:
    assert [run["state"] for run in list_runs(settings, limit=5)] == ["held"]
    approved = approve(settings, "r")
    assert approved["approved"] == ["labels removed: all"] and "publish_labels --set run_id=r" in approved["next"]
    assert approve(settings, "r") == approved
    assert event_payload(settings.tables, "r", APPROVED) == {"reasons": ["labels removed: all"], "figures": {}}
    assert [run["state"] for run in list_runs(settings, limit=5)] == ["open"], "approved, and not done yet"


def test_an_approval_is_of_the_figures_that_were_held_and_of_no_larger_ones(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(**changes: Any) -> None:
        monkeypatch.setattr(hold, "figures_of", lambda *_: PublicationFigures(**QUIET | changes))
        hold_past_limits(settings, pins_of(settings.tables, "r"))

    def ledger() -> RunLedger:
        return read_run(settings.tables, "r")

    for n_held in (2, 2):  # after that of the fixture; the same figures once
        with pytest.raises(HeldError, match="labels removed: 2000 of 7000"):
            publish(removed_in_all=2000)
        assert ledger().n_times[HELD] == n_held and ledger().of(HELD)["figures"]["removed_in_all"] == 2000
    approve(settings, "r")
    for more in ({"removed_in_all": 2001}, {"removed_in_all": 2000, "quarantined": 60}):
        with pytest.raises(HeldError):
            publish(**more)
        assert ledger().state == "held", "what was approved is not what would be published"
    assert ledger().n_times[HELD] == 4
    assert approve(settings, "r")["approved"] == [
        "members quarantined: 60 of 500 (12.0%), limit 10.0% (SEMLABEL_HOLD_QUARANTINED)"
    ]
    publish(removed_in_all=1900, quarantined=60, labels=7100)
    assert ledger().state == "open"


def test_only_a_held_run_can_be_approved(settings: Settings) -> None:
    append_event(settings.tables, "r", PUBLISHED, {"labels_version": 1, "compared_with": 0})
    with pytest.raises(CheckFailedError, match="is published already: there is nothing to approve"):
        approve(settings, "r")
    with pytest.raises(MissingRequirementError, match="No run 'other'"):
        approve(settings, "other")


def test_a_held_run_says_what_to_do() -> None:
    error = HeldError("r", ["labels removed: 7 of 10"])
    assert "labels removed: 7 of 10" in str(error) and "`semlabel approve r`" in str(error)
    assert exit_code_of(error) == exit_code_of(CeilingError("x")) == 1


def test_a_plan_is_priced_by_speed_and_rent() -> None:
    assert seconds_of(7200, 2.0) == 3600.0 and cost_of(3600.0, 3.0) == 3.0
    assert seconds_of(7200, None) is None and cost_of(3600.0, None) is None and cost_of(None, 3.0) is None
    assert seconds_of(0, None) == 0.0 and cost_of(0.0, None) == 0.0, "nothing costs nothing, whatever is known"


@pytest.mark.parametrize(
    ("settings", "cost_usd", "message"),
    [
        ({"max_pairs": 9}, None, "may score 10 pairs, and SEMLABEL_MAX_PAIRS is 9. Nothing was spent"),
        ({"max_cost_usd": 2.5}, 3.0, "may cost 3.0 USD, and SEMLABEL_MAX_COST_USD is 2.5. Nothing was spent"),
        ({"max_cost_usd": 2.5}, None, "what 10 pairs cost is not known: SEMLABEL_ENGINES_USD_PER_HOUR"),
        ({"max_pairs": 3, "ceiling_on": "expected"}, None, "is expected to score 4.5 pairs, and SEMLABEL_MAX_PAIRS is"),
    ],
    ids=["pairs", "cost", "unknown cost", "expected"],
)
def test_a_plan_above_a_ceiling_stops(
    tmp_path: Path, settings: dict[str, Any], cost_usd: float | None, message: str
) -> None:
    pairs, cost = {"min": 1, "expected": 4.5, "max": 10}, {"min": 0.0, "expected": cost_usd, "max": cost_usd}
    plan = {"pairs_to_score": pairs, "cost": cost}
    refuse_above_ceiling(plan, settings_under(tmp_path, max_pairs=10))
    refuse_above_ceiling(plan, settings_under(tmp_path, max_pairs=5, ceiling_on="expected"))
    with pytest.raises(CeilingError, match=message):
        refuse_above_ceiling(plan, settings_under(tmp_path, **settings))


def test_the_speed_is_that_of_the_last_published_run_that_scored_enough(settings: Settings) -> None:
    root = settings.tables
    pinned = event_payload(root, "r", "pinned") or {}
    assert measured_tokens_per_s(root, scorer_id="s", engine="x") is None
    for run_id, scorer_id, pairs, tokens in [
        ("slow", "s", 1000, 5000),
        ("last", "s", 2000, 40_000),
        ("few", "s", 10, 1),
        ("other", "t", 5000, 1),
        ("open", "s", 5000, 1),
    ]:
        append_event(root, run_id, "pinned", pinned | {"run_id": run_id, "scorer_id": scorer_id})
        for number in (0, 1):
            scored = {"scored": pairs // 2, "tokens": tokens // 2, "seconds": 5.0}
            append_event(root, run_id, f"round_{number}_score_round", scored)
        if run_id != "open":
            append_event(root, run_id, PUBLISHED, {"labels_version": None, "compared_with": 0})
    assert measured_tokens_per_s(root, scorer_id="s", engine="x") == 4000.0
    assert measured_tokens_per_s(root, scorer_id="unknown", engine="x") is None
    assert measured_tokens_per_s(root, scorer_id="s", engine="another") is None


def test_the_speed_is_of_what_each_attempt_of_a_round_scored_itself(settings: Settings) -> None:
    """Resumed after 900 of 1,000 pairs, and cleared a week later: neither took its seconds for the whole round."""
    root, event = settings.tables, "round_0_score_round"
    whole = {"scored": 1000, "tokens": 40_000}
    resumed = {"attempt_scored": 100, "attempt_tokens": 4000, "seconds": 4.0}
    append_event(root, "r", event, whole | resumed, attempt=2)  # the first try died, and left no event
    append_event(root, "r", event, whole | {"attempt_scored": 0, "attempt_tokens": 0, "seconds": 0.5}, attempt=3)
    append_event(root, "r", PUBLISHED, {"labels_version": None, "compared_with": 0})
    assert measured_tokens_per_s(root, scorer_id="s", engine="x") is None, "100 pairs measure no speed"
    rest = {"attempt_scored": 900, "attempt_tokens": 36_000, "seconds": 36.0}
    append_event(root, "r", "round_1_score_round", whole | rest)
    assert measured_tokens_per_s(root, scorer_id="s", engine="x") == 1000.0


def test_what_a_run_took_is_the_seconds_of_all_attempts_and_never_falls(settings: Settings) -> None:
    def job_seconds() -> float:
        samples = ledger_samples(read_runs(settings.tables), datetime.now(UTC))
        return next(s.value for s in samples if s.metric is JOB_SECONDS and s.labels[1] == "score_round")

    for attempt, (seconds, waited_s, expected) in enumerate(((30.0, 2.0, 30.0), (0.5, 9000.0, 30.5)), start=1):
        payload = {"scored": 9, "tokens": 90, "seconds": seconds, "waited_s": waited_s}
        append_event(settings.tables, "r", "round_0_score_round", payload, attempt=attempt)
        assert job_seconds() == expected
    (run,) = read_runs(settings.tables)
    assert run.of("round_0_score_round")["scored"] == 9 and run.waited_s() == 2.0
