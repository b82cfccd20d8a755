"""Plans of real runs against what the runs then score, and both against the least that has to be scored.

One world goes through a first run, a catalog that only lost entries, one with new entries and texts, and another
threshold; each is planned, run and counted by hand.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import pilot, survival_history
from jobs.artifact_folder import load_artifact
from jobs.catalog_diff import catalog_diff
from jobs.errors import CeilingError
from jobs.ledger import append_event
from jobs.run_job import parse_params
from jobs.settings import Settings
from jobs.table_reader import pins_of
from mis_scoring.core.identity import text_hash
from mis_scoring.core.readout import margin_of
from mis_scoring.core.rounds import RoundRule
from schemas.coverage import COVERAGE
from schemas.labels import LABELS
from tests.spark.conftest import CATALOG_TEXTS, PROFILE_TEXTS, register_variant
from tests.world import World, settings_under, shares_a_word

Pair = tuple[str, str]  # hashes of query and item


@dataclass
class Seen:
    """A run: its plan, the least that it had to score, what it scored, and what it left."""

    run_id: str
    plan: dict[str, Any]
    scope: dict[str, Any]
    least: set[Pair]
    scored: int
    reused: int
    changes: int
    coverage: dict[str, dict[str, Any]]
    labels: set[tuple[str, str]]


def refresh(world: World, trigger_id: str, *, kind: str) -> Seen:
    run_id = world.retrieve(trigger_id, kind=kind)
    known = {(row["query_hash"], row["item_hash"]) for row in world.rows("judgments")}
    plan = world.plan(run_id)
    least = to_visit(world, run_id) - known
    world.score_rounds(run_id)
    result = world.publish(run_id)
    return Seen(
        run_id=run_id,
        plan=plan,
        scope=world.scope,
        least=least,
        scored=world.scored,
        reused=world.reused,
        changes=sum(result["changes"].values()),
        coverage={row["member_id"]: row for row in world.rows("coverage", where=f"run_id = '{run_id}'")},
        labels=world.labels(),
    )


def to_visit(world: World, run_id: str) -> set[Pair]:
    """Walk every member's rounds by hand, from the candidates alone; returns the pairs that this takes."""
    pins = pins_of(world.settings.tables, run_id)
    layout, cut = load_artifact(pins).prompt, margin_of(pins.threshold)
    rule = RoundRule(candidates_per_round=pins.candidates_per_round, stop_below=pins.stop_below)
    texts = {row["qualification_id"]: row["text"] for row in world.rows("catalog", where="status = 'active'")}
    profiles = {row["member_id"]: row["profile_text"] for row in world.rows("profiles")}
    ranked: dict[str, list[str]] = {}
    for row in sorted(world.rows("candidates", where=f"run_id = '{run_id}'"), key=lambda row: row["rank"]):
        ranked.setdefault(row["member_id"], []).append(row["qualification_id"])
    visited = set[Pair]()
    for member, candidates in ranked.items():
        query = layout.render_query(profiles[member])
        for first in range(0, len(candidates), pins.candidates_per_round):
            slots = candidates[first : first + pins.candidates_per_round]
            items = [layout.render_item(texts[key]) for key in slots if key in texts]
            visited |= {(text_hash(query), text_hash(item)) for item in items}
            accepted = sum((shares_a_word(query, item) or 0.0) >= cut for item in items)
            if rule.outcome(judged=len(items), accepted=accepted, missing=0, is_last_round=False) != "goes_on":
                break
    return visited


@pytest.fixture(scope="module")
def seen(
    spark: SparkSession, registry: Settings, labeler: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("plan")
    world = World(spark, settings_under(home, mlflow_uri=registry.tracking_uri, candidates_per_member=8))
    world.put_profiles(PROFILE_TEXTS)
    world.put_catalog(CATALOG_TEXTS)
    found: dict[str, Any] = {"first": refresh(world, "first", kind="weekly_full")}
    gone = ["q-baking", "q-driving", "q-selling"]
    world.put_catalog(CATALOG_TEXTS, retired=gone)
    found["retired"] = refresh(world, "retired", kind="catalog_backfill")
    changed = CATALOG_TEXTS | {"q-painting": "painting of doors and walls", "q-walking": "long guided walks"}
    world.put_catalog(changed, retired=gone)
    found["diff before"] = catalog_diff(world.settings)
    found["changed"] = refresh(world, "changed", kind="catalog_backfill")
    found["diff"] = catalog_diff(
        world.settings, str(pins_of(world.settings.tables, found["retired"].run_id).catalog_version)
    )
    stops_nobody = RoundRule(candidates_per_round=4, stop_below=0.0)  # every round of everyone is needed
    alias = register_variant(registry, labeler, home / "laxer", "laxer", round_rule=stops_nobody)
    world.settings = world.settings.model_copy(update={"labeler_alias": alias})
    found["laxer"] = refresh(world, "laxer", kind="weekly_full")
    return found


RUNS = ("first", "retired", "changed", "laxer")


@pytest.mark.parametrize("name", RUNS)
def test_a_run_scores_no_more_than_it_must(seen: dict[str, Seen], name: str) -> None:
    assert len(seen[name].least) <= seen[name].scored <= 1.05 * len(seen[name].least)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_stays_between_at_least_and_at_most_of_its_plan(seen: dict[str, Seen], name: str) -> None:
    run = seen[name]
    actual = {"pairs_to_score": run.scored, "pairs_reused": run.reused, "labels_that_may_change": run.changes}
    for what, value in actual.items():
        assert run.plan[what]["min"] <= value <= run.plan[what]["max"], what


def test_of_a_first_run_the_first_round_is_certain(seen: dict[str, Seen]) -> None:
    plan = seen["first"].plan
    assert plan["reasons"] == {"first_time": 4} and plan["members"] == 4
    assert plan["pairs_to_score"] == {"min": 16, "expected": 32, "max": 32} and plan["pairs_reused"]["max"] == 0
    assert plan["rounds"] == [
        {"round": 0, "members_min": 4, "members_max": 4},
        {"round": 1, "members_min": 0, "members_max": 4},
    ]
    assert plan["expected_by"]["run_id"] is None and "an assumption" in plan["expected_by"]["basis"]
    assert plan["gpu_seconds"] == {"min": None, "expected": None, "max": None}, "no run has measured the engine"


def test_entries_that_only_went_need_no_retrieval_and_no_score(seen: dict[str, Seen]) -> None:
    run, first = seen["retired"], seen["first"]
    assert run.scope["members_keeping_candidates"] == 4 and run.scored == 0
    assert all(run.plan[what]["max"] == 0 for what in ("pairs_to_score", "tokens", "gpu_seconds", "cost"))
    assert run.plan["labels_that_may_change"] == {"min": 1, "expected": 1, "max": 1} and run.changes == 1
    assert run.labels == first.labels - {("ann", "q-baking")}
    assert run.plan["reasons"]["retired"] == 4 and run.plan["moved"] == {"members": 0, "came_in": 0, "dropped_out": 0}
    for member, covered in run.coverage.items():
        before = first.coverage[member]
        assert covered["retrieval_delta_version"] == before["catalog_delta_version"] < covered["catalog_delta_version"]
        assert covered["candidates"] == before["candidates"] == 8 and covered["is_complete"]


def test_a_new_entry_and_a_new_text_are_told_apart_and_close_the_slots(seen: dict[str, Seen]) -> None:
    run = seen["changed"]
    assert run.scope["members_keeping_candidates"] == 0 and run.scored > 0
    reasons = run.plan["reasons"]
    assert reasons["catalog_entry_added"] == reasons["catalog_text_changed"] == 4
    assert all(row["retrieval_delta_version"] == row["catalog_delta_version"] for row in run.coverage.values())


def test_another_round_rule_scores_the_further_rounds_that_the_plan_lists(seen: dict[str, Seen]) -> None:
    run = seen["laxer"]
    assert run.plan["reasons"] == {"threshold": 4}
    figure = run.plan["pairs_to_score"]
    assert figure["min"] == figure["expected"] == figure["max"] == run.scored, "nothing is left to chance"
    assert run.plan["rounds"][1] == {"round": 1, "members_min": 4, "members_max": 4}


def test_a_pilot_publishes_nothing_tells_how_far_members_get_and_is_reused(
    published: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = published
    world.put_catalog(CATALOG_TEXTS | {"q-walking": "long guided walks", "q-piping": "welding of gas pipes"})
    run_id = world.retrieve("plan", kind="catalog_backfill")
    monkeypatch.setattr(pilot, "run_job", rounds_by_rule(world))
    monkeypatch.setattr(survival_history, "ENOUGH_NEWCOMERS", 1)
    before = world.version(LABELS), world.version(COVERAGE)
    ended = pilot.run_pilot(world.settings, pilot.draw_pilot(world.spark, world.settings, run_id))
    assert (world.version(LABELS), world.version(COVERAGE)) == before
    assert ended["members"] == 4 and 0 < ended["pairs"] == len(world.rows("judgments", where=of_run(ended)))
    plan = world.plan(run_id)
    assert plan["expected_by"]["run_id"] == plan["expected_by"]["newcomers_of"] == ended["run_id"]
    assert "a pilot of 4 members" in plan["expected_by"]["basis"]
    assert plan["pairs_to_score"]["max"] == 0, "all members were in the pilot"
    world.score_rounds(run_id)
    assert world.scored == 0 and world.reused > 0
    world.put_profiles(PROFILE_TEXTS | {"eve": "Singing, and long walks."})
    daily = world.retrieve("daily", kind="daily_incremental")
    with pytest.raises(CeilingError, match="may score 8 pairs, and SEMLABEL_MAX_PAIRS is 7"):
        bounded = world.settings.model_copy(update={"max_pairs": 7})
        pilot.run_pilot(bounded, pilot.draw_pilot(world.spark, world.settings, daily))


def of_run(ended: dict[str, Any]) -> str:
    return f"run_id = '{ended['run_id']}'"


def rounds_by_rule(world: World) -> Callable[..., dict[str, Any]]:
    """Run a pilot's jobs on the world's session; scores are by the rule."""

    def run(name: str, values: dict[str, str], settings: Settings) -> dict[str, Any]:
        module = importlib.import_module(f"jobs.{name}")
        params = parse_params(module.Params, values, job=name)
        if name == "score_round":
            result = {"scored": world.score(params.run_id, params.round, shares_a_word), "tokens": 0}
        elif name == "stop_engines":
            result = dict(module.run(settings, params))
        else:
            result = dict(module.run(world.spark, settings, params))
        event = f"round_{params.round}_{name}" if "round" in values else name
        append_event(settings.tables, params.run_id, event, result | {"seconds": 1.0})
        return result

    return run


def test_the_catalog_diff_says_what_changed_and_whom_it_moves(seen: dict[str, Any]) -> None:
    before, after = seen["diff before"], seen["diff"]
    counts = {"added": 1, "retired": 0, "removed": 0, "text_changed": 1, "category_changed": 0}
    assert before["counts"] == after["counts"] == counts and before["moved"] is None
    assert before["then"] == after["then"] and before["now"] == after["now"]
    painting, walking = after["entries"]
    assert (painting["text_then"], painting["text_now"]) == ("painting of walls", "painting of doors and walls")
    assert (walking["qualification_id"], walking["text_then"]) == ("q-walking", None)
    assert after["moved"]["members"] == 4 and after["moved"]["run_id"] == seen["changed"].run_id
