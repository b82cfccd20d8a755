"""The report of a run: its figures are those of the tables and the ledger, and its page names no member."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs.errors import MissingRequirementError
from jobs.mlflow_client import experiment_id, registry_client
from jobs.report_run import Params, report_of
from jobs.report_run import run as report_run
from jobs.run_figures import against_plan
from jobs.run_ledger import read_run
from jobs.run_page import write_page
from jobs.settings import Settings
from jobs.stop_rule import stop_rule
from jobs.table_reader import pins_of, query
from schemas.coverage import COVERAGE
from schemas.stop_sample import STOP_SAMPLE
from tests.published_run import CATEGORIES, PROFILE_TEXT, append_events, make_tables, put, write_run
from tests.world import settings_under

FIRST = datetime(2026, 11, 1, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A weekly run, a daily one, and the weekly one after it; each before the last has reported its positive rate."""
    made = settings_under(tmp_path_factory.mktemp("runs"))
    make_tables(made.tables)
    write_run(made.tables, "weekly_full-1", at=FIRST)
    write_run(made.tables, "daily_incremental-1", at=FIRST + timedelta(days=6), kind="daily_incremental")
    write_run(made.tables, "weekly_full-2", at=FIRST + timedelta(days=7))
    for hours, (run_id, accepted) in enumerate((("weekly_full-1", 3), ("daily_incremental-1", 0))):
        rates = {"positive_rate": {"skill": {"judged": 6, "accepted": accepted}}}
        append_events(
            made.tables, run_id, {"report_run": rates | {"seconds": 1.0}}, at=FIRST + timedelta(days=6.5, hours=hours)
        )
    yield made


@pytest.fixture(scope="module")
def report(settings: Settings) -> dict[str, Any]:
    return report_of(settings, pins_of(settings.tables, "weekly_full-2"))


def test_the_funnel_goes_from_scope_to_label(report: dict[str, Any]) -> None:
    members = {"members_in_scope": 3, "members_retrieved": 2, "members_judged": 2, "members_with_a_label": 1}
    assert report["funnel"] == members | {"candidates": 20, "judged": 12, "accepted": 3, "reused": 3, "scored": 9}


def test_a_round_says_what_it_judged_and_what_it_cost(report: dict[str, Any]) -> None:
    first, second = report["rounds"]
    assert (first["members"], first["judged"], first["accepted"], first["accepted_share"]) == (2, 8, 2, 0.25)
    assert (first["scored"], first["pairs_reused"], first["tokens"], first["seconds"]) == (5, 3, 110, 5.0)
    assert (second["members"], second["accepted"], second["reasons"]) == (1, 1, {"candidates_exhausted": 1})


def test_the_seconds_of_all_rounds_stand_with_their_job(report: dict[str, Any]) -> None:
    assert report["seconds_by_job"]["score_round"] == 8.0
    assert report["waited_s"] == 25.0 and report["elapsed_s"] == 600.0


def test_the_plan_stands_beside_what_it_came_to(settings: Settings, report: dict[str, Any]) -> None:
    planned = {row["what"]: (row["min"], row["expected"], row["max"], row["actual"]) for row in report["against_plan"]}
    pairs_and_tokens = {"pairs_to_score": (5, 8.0, 30, 9), "tokens": (110, 180.0, 900, 180)}
    assert planned == pairs_and_tokens | {"gpu_seconds": (2.0, 4.0, 20.0, 8.0)}, "nobody knows the rent"
    ledger = read_run(settings.tables, "weekly_full-2")
    cost = {"min": 0.05, "expected": 0.1, "max": 0.5}
    plan = {**ledger.of("plan_refresh"), "cost": cost}
    priced = replace(ledger, payloads={**ledger.payloads, "plan_refresh": plan})
    assert against_plan(priced, 90.0)[-1] == {"what": "cost", **cost, "actual": 0.2}


def test_drift_is_against_the_run_before_of_the_same_kind(report: dict[str, Any]) -> None:
    assert report["previous_run_id"] == "weekly_full-1"
    by_category = {row["category"]: row for row in report["drift"]}
    assert (by_category["skill"]["share"], by_category["skill"]["before"]) == (1 / 6, 0.5)
    assert by_category["licence"]["difference"] is None, "the run before judged none"


def test_a_first_run_has_nothing_to_drift_from(settings: Settings) -> None:
    first = report_of(settings, pins_of(settings.tables, "weekly_full-1"))
    assert first["previous_run_id"] is None and first["changes"] == {"added": 3}


def test_quality_says_where_a_supported_pair_was_lost(report: dict[str, Any]) -> None:
    quality = report["quality"]
    assert (quality["supported"], quality["true_positives"], quality["lost_by_early_stop"]) == (4, 3, 1)


def test_the_page_holds_the_figures_and_no_text_of_anybody(report: dict[str, Any], tmp_path: Path) -> None:
    write_page(tmp_path / "run.html", report | {"held": ["3 labels would go"]})
    page = (tmp_path / "run.html").read_text()
    assert "weekly_full-1" in page and "profile_text holds no &lt;text&gt;" in page
    assert "3 labels would go" in page and "first time" in page and "the rounds of an earlier run" in page
    for name in ("ann", "bob", "cat"):
        assert PROFILE_TEXT.format(name) not in page and not re.search(rf">\s*{name}\s*<", page)
    assert not re.search(r"""(src|href)=["'](?!#)""", page), "nothing from outside is asked for"


def test_the_page_of_a_run_that_judged_nothing_is_whole(report: dict[str, Any], tmp_path: Path) -> None:
    nothing = report | {"rounds": [], "drift": [], "quality": None, "changes": {}, "quarantine": [], "against_plan": []}
    nothing |= {
        "scope_reasons": {},
        "stop_reasons": {},
        "left_out": {},
        "elapsed_s": None,
        "waited_s": None,
        "previous_run_id": None,
    }
    nothing |= {"counts": dict.fromkeys(report["counts"], 0), "funnel": dict.fromkeys(report["funnel"], 0)}
    write_page(tmp_path / "run.html", nothing)
    page = (tmp_path / "run.html").read_text()
    assert "No round was needed" in page and "changed no" in page and "Nothing was set aside" in page


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A weekly run whose stopped members, ann and bob, are sampled: judged to the end, bob has two labels more."""
    made = settings_under(tmp_path_factory.mktemp("priced"))
    make_tables(made.tables)
    write_run(made.tables, "weekly_full-1", at=FIRST)
    past = {"round_2_score_round": {"scored": 8, "tokens": 80, "tie_tokens": 10, "seconds": 2.0}}
    past |= {
        "round_2_stop_early": {
            "past_stop_scored": 8,
            "past_stop_tokens": 80,
            "past_stop_tie_tokens": 10,
            "seconds": 1.0,
        }
    }
    append_events(made.tables, "weekly_full-1", past, at=FIRST + timedelta(minutes=9))
    put(made.tables, STOP_SAMPLE, [sampled("ann", 2, [0, 1, 5]), sampled("bob", 1, [5, 8])])
    return made


def sampled(member_id: str, rounds: int, accepted_ranks: list[int]) -> dict[str, Any]:
    """A row of `stop_sample`; ten candidates in rounds of 4, ten tokens a pair and ten for ties in all."""
    after = 10 - 4 * rounds
    return {
        "run_id": "weekly_full-1",
        "member_id": member_id,
        "stop_reason": "accepted_too_little",
        "rounds": rounds,
        "candidates": 10,
        "is_judged_to_end": True,
        "scored_past_stop": after,
        "tokens_past_stop": 10 * after + 10 * (member_id == "bob"),
        "unjudged_ranks": [],
        "accepted_ranks": accepted_ranks,
        "accepted_categories": [CATEGORIES[rank % 2] for rank in accepted_ranks],
    }


def test_a_run_without_a_sample_prices_no_stop(report: dict[str, Any]) -> None:
    assert report["stop_price"] is None


def test_the_sample_prices_the_stop_and_is_in_no_other_figure(priced: Settings, report: dict[str, Any]) -> None:
    found = report_of(priced, pins_of(priced.tables, "weekly_full-1"))
    price = found["stop_price"]
    assert (price["members_stopped"], price["sampled_stopped"], price["scored_past_stop"]) == (2, 2, 8)
    assert price["labels_lost"] == figures(2, 2 / 5) and price["pairs_saved"] == figures(8, 8 / 17)
    by_category = price["labels_lost_by_category"]
    assert by_category["licence"] == figures(1, 1 / 3) and by_category["skill"] == figures(1, 1 / 2)
    for name in ("scored", "pairs_reused", "judgments", "labels"):
        assert found["counts"][name] == report["counts"][name]
    planned, usual = found["against_plan"], report["against_plan"]
    assert [row["actual"] for row in planned[:2]] == [row["actual"] for row in usual[:2]], "pairs and tokens"


def test_the_page_tells_what_stopping_cost(priced: Settings, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", report_of(priced, pins_of(priced.tables, "weekly_full-1")))
    page = tmp_path.joinpath("page.html").read_text()
    assert "labels lost: licence" in page and "33.33% (33.33% to 33.33%)" in page


def test_the_frontier_tells_other_rules_from_the_kept_sample(priced: Settings) -> None:
    found = stop_rule(priced, ["weekly_full-1"], [5])
    points = {(point["candidates_per_round"], point["stop_below"]): point for point in found["points"]}
    now = points[4, 0.25]
    assert (now["labels_lost"]["total"], now["pairs_saved"]["total"]) == (2, 6) and found["rule"].items() <= now.items()
    assert points[4, 0.0]["labels_lost"]["total"] == 0 and points[5, 0.5]["labels_lost"]["total"] == 3
    assert Path(found["plot"]).read_text().startswith("<svg")


def test_no_frontier_is_drawn_without_a_sample(settings: Settings) -> None:
    with pytest.raises(MissingRequirementError, match="SEMLABEL_STOP_SAMPLE_FROM"):
        stop_rule(settings, [], [])
    with pytest.raises(MissingRequirementError, match="weekly_full-1: runs draw one"):
        stop_rule(settings, ["weekly_full-1"], [])


def test_an_estimate_that_says_too_little_is_not_shown(priced: Settings) -> None:
    put(priced.tables, COVERAGE, [coverage_like_bob(priced, f"member-{number}") for number in range(50)])
    found = report_of(priced, pins_of(priced.tables, "weekly_full-1"))["stop_price"]
    assert found["members_stopped"] == 52 and "wider than 10%" in found["labels_lost"]["withheld"]


def coverage_like_bob(settings: Settings, member_id: str) -> dict[str, Any]:
    row = query(settings.tables, "SELECT * FROM coverage WHERE member_id = 'bob'", COVERAGE)[0]
    return row | {"member_id": member_id}


def figures(total: float, share: float) -> dict[str, float]:
    """An estimate from all there are, which is no estimate."""
    shares = dict.fromkeys(("share", "share_low", "share_high"), pytest.approx(share))
    return {"total": total, "low": total, "high": total, **shares}


def test_a_run_that_is_reported_again_is_one_run_in_mlflow(tmp_path: Path) -> None:
    own = settings_under(tmp_path)
    make_tables(own.tables)
    for run_id in ("weekly_full-1", "weekly_full-2"):
        write_run(own.tables, run_id, at=FIRST)
    for run_id in ("weekly_full-1", "weekly_full-1", "weekly_full-2"):
        report_run(own, Params(run_id=run_id))
    client = registry_client(own)
    found = client.search_runs([experiment_id(client, own)])
    assert sorted(run.info.run_name for run in found) == ["weekly_full-1", "weekly_full-2"]
    assert all(run.data.metrics["judgments"] == 12 and run.info.status == "FINISHED" for run in found)
