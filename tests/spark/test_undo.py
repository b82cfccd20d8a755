"""Recompute, rollback, hold, release and revoke over real Spark and Delta, one after the other on the same tables.

The story: a broken engine recomputes every label wrongly; one member's profile changes afterwards; the bad run is
rolled back, schedules pass without effect; then the hold is released, the bad judgments are revoked, a run repairs what
they did, and another recomputes all. It is told once a module, and each test looks at a part of what was seen.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import scope_members
from jobs.audit.label import audit_label
from jobs.input_hold import release_hold, standing_holds
from jobs.list_runs import list_runs
from jobs.revoke import Request as RevokeRequest
from jobs.revoke import revoke
from jobs.rollback import Request, roll_back
from jobs.settings import Settings
from tests.spark.conftest import CATALOG_TEXTS, PROFILE_TEXTS
from tests.world import World, settings_under, shares_a_word


def wrongly(query_text: str, item_text: str) -> float:
    return -shares_a_word(query_text, item_text)


def label_rows(world: World) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["member_id"], row["qualification_id"]): row for row in world.rows("labels")}


@contextmanager
def reader(world: World) -> Iterator[set[frozenset[tuple[str, str]]]]:
    """Read the labels in a loop, beside what the block does, and collect every set that was seen."""
    seen: set[frozenset[tuple[str, str]]] = set()
    is_over = threading.Event()

    def loop() -> None:
        while not is_over.is_set():
            seen.add(frozenset(world.labels()))

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


@pytest.fixture(scope="module")
def story(spark: SparkSession, registry: Settings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("undo")
    world = World(spark, settings_under(home, mlflow_uri=registry.tracking_uri, candidates_per_member=4))  # one round
    seen: dict[str, Any] = {"world": world}
    world.put_profiles(PROFILE_TEXTS)
    world.put_catalog(CATALOG_TEXTS)
    seen["first"] = world.refresh("first") | {"labels": label_rows(world)}
    bad = world.prepare("bad", wrongly, recompute=True)
    with reader(world) as seen["sets"]:
        seen["bad"] = world.publish(bad) | {"run_id": bad}
    seen["sets"].add(frozenset(world.labels()))
    seen["bad"]["labels"] = label_rows(world)
    late = world.pin("late")
    scope_members.run(spark, world.settings, scope_members.Params(run_id=late))
    world.put_profiles(PROFILE_TEXTS | {"bob": "Experienced in painting only."}, version=2)
    world.refresh("newer", kind="daily_incremental")
    world.put_catalog(CATALOG_TEXTS, retired=["q-singing"])

    seen["rollback"] = roll_back(spark, world.settings, Request(run_id=bad, reason="broken engine", who="me"))
    seen["restored"] = label_rows(world)
    seen["coverage"] = world.rows("coverage", where=f"run_id = '{seen['rollback']['run_id']}'")
    seen["audits"] = audits(world, seen["first"]["run_id"])
    seen["late"] = world.publish(late)
    for kind in ("daily_incremental", "weekly_full"):
        seen[kind] = world.refresh("held back", kind=kind) | {"plan": world.scope, "labels": label_rows(world)}

    seen["shown"] = list_runs(world.settings, limit=1)
    release_hold(world.settings, seen["rollback"]["hold_id"], reason="mended", who="me")
    seen["holds"] = standing_holds(world.settings.tables)
    seen["revoked"] = revoke(world.settings, RevokeRequest(run_id=bad, reason="broken engine", who="me"))
    repaired = world.refresh("repair", kind="daily_incremental")
    seen["repaired"] = repaired | {"plan": world.scope, "reused": world.reused, "labels": label_rows(world)}
    again = world.refresh("again", recompute=True)
    seen["again"] = again | {"scored": world.scored, "reused": world.reused, "labels": label_rows(world)}
    every = RevokeRequest(since=datetime(2026, 1, 1, tzinfo=UTC), reason="all", who="me")
    seen["price"] = revoke(world.settings, every, is_dry=True)
    by_force = Request(run_id=bad, reason="all of it", who="me", is_forced=True)
    seen["forced"] = roll_back(spark, world.settings, by_force) | {"labels": label_rows(world)}
    return seen


def audits(world: World, judged_by: str) -> dict[str, Any]:
    """Audit an accepted and a rejected pair of restored members."""
    best_of_cat = f"run_id = '{judged_by}' AND member_id = 'cat' AND rank = 0"
    rejected = world.rows("candidates", "qualification_id", best_of_cat)[0]["qualification_id"]
    pairs = {"accepted": ("ann", "q-nursing"), "rejected": ("cat", rejected)}
    return {state: audit_label(world.settings, *pair) for state, pair in pairs.items()}


def test_recomputed_labels_are_the_reused_ones_label_by_label(story: dict[str, Any]) -> None:
    repaired, again = story["repaired"], story["again"]
    assert repaired["reused"] > 0 and again["reused"] == 0 and again["scored"] > 0
    assert again["labels"] == repaired["labels"] and len(again["labels"]) == 4
    assert again["changes"] == {} and again["labels_version"] is None


def test_a_recompute_opens_a_generation_that_later_runs_reuse(story: dict[str, Any]) -> None:
    world = story["world"]
    generations = {row["run_id"]: row["generation"] for row in world.rows("judgments", "DISTINCT run_id, generation")}
    assert [generations[story[run]["run_id"]] for run in ("first", "bad", "again")] == [0, 1, 2]
    changes = world.rows("label_changes", where=f"run_id = '{story['bad']['run_id']}'")
    assert {row["reason"] for row in changes} == {"recomputed"}, "and readers take the newest"


def test_a_reader_that_loops_during_a_publication_never_sees_a_mix(story: dict[str, Any]) -> None:
    assert story["sets"] == {frozenset(story["first"]["labels"]), frozenset(story["bad"]["labels"])}


def test_a_rollback_by_force_takes_members_back_that_newer_runs_have_published(story: dict[str, Any]) -> None:
    before = {pair: row for pair, row in story["first"]["labels"].items() if pair != ("dan", "q-singing")}
    forced = story["forced"]
    assert forced["labels"] == before != story["again"]["labels"] and ("bob", "q-welding") in before
    assert (forced["members_restored"], forced["kept"]) == (4, [])


def test_a_rollback_restores_the_rows_from_before_the_run(story: dict[str, Any]) -> None:
    before = {pair: row for pair, row in story["first"]["labels"].items() if pair[0] != "bob"}
    del before["dan", "q-singing"]  # retired since
    restored = {pair: row for pair, row in story["restored"].items() if pair[0] != "bob"}
    assert restored == before and len(restored) == 3
    done = story["rollback"]
    assert done["rolls_back"] == story["bad"]["run_id"]
    assert (done["members_restored"], done["members_gone"], done["labels_without_entry"]) == (3, 0, 1)
    of_run = f"run_id = '{done['run_id']}'"
    assert {row["reason"] for row in story["world"].rows("label_changes", where=of_run)} == {"rollback"}


def test_a_member_whom_a_newer_run_has_published_keeps_its_labels_and_is_listed(story: dict[str, Any]) -> None:
    assert (story["rollback"]["kept"], story["rollback"]["members_kept"]) == (["bob"], 1)
    assert {pair for pair in story["restored"] if pair[0] == "bob"} == {("bob", "q-painting")}


def test_restored_members_stand_on_the_coverage_from_before_the_run(story: dict[str, Any]) -> None:
    found = {row["member_id"]: row for row in story["coverage"]}
    assert {name: row["incomplete_reason"] for name, row in found.items()} == {
        "ann": None, "bob": "superseded", "cat": None, "dan": None,
    }  # fmt: skip
    first = story["world"].rows("coverage", where=f"run_id = '{story['first']['run_id']}' AND member_id = 'ann'")[0]
    assert found["ann"] == first | {"run_id": story["rollback"]["run_id"], "restored_run_id": first["run_id"]}


def test_the_audit_of_a_restored_member_is_that_of_the_run_that_judged(story: dict[str, Any]) -> None:
    for state, found in story["audits"].items():
        assert (found["state"], found["judgment"]["judged_run_id"]) == (state, story["first"]["run_id"])
        assert "rolled_back" in [row["code"] for row in found["stale_reasons"]]
        assert found["similarity"] is not None


def test_what_is_on_hold_is_left_alone_by_every_schedule_and_by_a_run_that_was_planned_before(
    story: dict[str, Any],
) -> None:
    assert story["late"]["members_left_out"] == {"on_hold": 3, "superseded": 1} and story["late"]["changes"] == {}
    assert story["daily_incremental"]["plan"]["reasons"] == {}
    assert story["weekly_full"]["plan"]["reasons"] == {"catalog_changed": 1}, "bob alone is free"
    for kind in ("daily_incremental", "weekly_full"):
        assert story[kind]["labels"] == story["restored"]


def test_runs_show_the_hold_until_it_is_released(story: dict[str, Any]) -> None:
    assert [run["hold"] for run in story["shown"]] == [None, story["rollback"]["hold_id"]]
    assert story["shown"][1]["run_id"] == story["rollback"]["run_id"] and story["holds"] == []


def test_revoked_judgments_are_used_no_more_and_their_members_are_repaired(story: dict[str, Any]) -> None:
    revoked, repaired = story["revoked"], story["repaired"]
    n_bad = len(story["world"].rows("judgments", where=f"run_id = '{story['bad']['run_id']}'"))
    assert revoked["judgments"] == n_bad and revoked["members"] == 3
    assert revoked["pairs_at_most"] == 0, "the generation before it is still there"
    assert repaired["plan"]["reasons"] == {"revoked": 3}
    ann = {("ann", "q-nursing"), ("ann", "q-teaching"), ("ann", "q-baking")}
    assert set(repaired["labels"]) == ann | {("bob", "q-painting")}


def test_the_repair_is_priced_by_the_tokens_of_the_texts_that_would_be_scored_again(story: dict[str, Any]) -> None:
    price = story["price"]
    assert price["members"] == 4 and price["labels"] == 4
    assert price["tokens_at_most"] > 2 * price["pairs_at_most"] > 0
