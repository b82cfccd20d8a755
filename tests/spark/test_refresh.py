"""Refresh runs over real Spark and Delta, one after the other on the same tables: what each scores, reuses and changes.

A run costs seconds, so the runs happen once a module and each test looks at what one of them left.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jobs import retrieve_candidates, scope_members, stop_early
from jobs.ledger import append_event
from jobs.settings import Settings
from jobs.tables import append
from schemas.labels import LABELS
from tests.spark.conftest import CATALOG_TEXTS, PROFILE_TEXTS, register_variant
from tests.world import World


@dataclass
class Seen:
    """What stood after a run."""

    result: dict[str, Any]
    scored: int
    reused: int
    labels: set[tuple[str, str]]
    labels_version: int
    coverage: dict[str, dict[str, Any]]
    removed: dict[tuple[str, str], str]
    extra: dict[str, Any] = field(default_factory=dict)


def look(world: World, result: dict[str, Any], **extra: Any) -> Seen:
    of_run = f"run_id = '{result['run_id']}'"
    removed = world.rows("label_changes", where=f"{of_run} AND change = 'removed'")
    return Seen(
        result=result,
        scored=world.scored,
        reused=world.reused,
        labels=world.labels(),
        labels_version=world.version(LABELS),
        coverage={row["member_id"]: row for row in world.rows("coverage", where=of_run)},
        removed={(row["member_id"], row["qualification_id"]): row["reason"] for row in removed},
        extra={"candidates": len(world.rows("candidates", where=of_run)), **extra},
    )


@pytest.fixture(scope="module")
def runs(
    _published: World, registry: Settings, labeler: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Seen]:
    home = tmp_path_factory.mktemp("refresh")
    world = _published.copy(home)
    seen = {"first": look(world, world.result, reasons={r["reason"] for r in world.rows("label_changes")})}
    seen["unchanged"] = look(world, world.refresh("unchanged"))

    texts = {key: text for key, text in PROFILE_TEXTS.items() if key != "dan"}
    world.put_profiles(texts | {"bob": "Experienced in painting only."}, version=2)
    world.put_catalog(CATALOG_TEXTS, retired=["q-baking"])
    seen["changed"] = look(world, world.refresh("changed"))

    n_judged = len(world.rows("judgments"))
    world.settings = world.settings.model_copy(update={"candidates_per_member": 9})
    seen["wider"] = look(world, world.refresh("wider"))
    seen["wider"].extra["new_judgments"] = len(world.rows("judgments")) - n_judged

    # a margin of 2 does not reach it
    stricter = register_variant(
        registry, labeler, home / "stricter", "stricter", threshold=0.95
    )  # a margin of 2 is less
    world.settings = world.settings.model_copy(update={"labeler_alias": stricter})
    seen["stricter"] = look(world, world.refresh("stricter"))
    return seen


def test_the_published_labels_are_the_accepted_pairs(runs: dict[str, Seen]) -> None:
    ann = {("ann", "q-nursing"), ("ann", "q-baking"), ("ann", "q-teaching")}
    others = {("bob", "q-welding"), ("bob", "q-painting"), ("dan", "q-singing")}
    assert runs["first"].labels == ann | others
    assert runs["first"].result["changes"] == {"added": 6}
    assert runs["first"].extra["reasons"] == {"first_time"}


def test_a_member_stops_when_its_round_accepts_too_little(runs: dict[str, Seen]) -> None:
    cat = runs["first"].coverage["cat"]
    assert (cat["stop_reason"], cat["rounds"], cat["judged"]) == ("accepted_too_little", 1, 4)
    assert (cat["depth"], cat["candidates"], cat["is_complete"]) == (4, 8, True)


def test_a_refresh_of_unchanged_inputs_retrieves_scores_nothing_and_makes_no_commit(runs: dict[str, Seen]) -> None:
    first, second = runs["first"], runs["unchanged"]
    assert second.result["run_id"] != first.result["run_id"]
    assert second.extra["candidates"] == first.extra["candidates"] == 4 * 8
    assert second.scored == 0 and second.reused == first.scored
    assert second.result["changes"] == {} and second.result["labels_version"] is None
    assert (second.labels, second.labels_version) == (first.labels, first.labels_version)


def test_each_removed_label_has_its_reason(runs: dict[str, Seen]) -> None:
    assert runs["changed"].removed == {
        ("bob", "q-welding"): "profile_changed",
        ("ann", "q-baking"): "retired",
        ("dan", "q-singing"): "member_removed",
    }


def test_only_the_changed_profile_and_moved_candidates_are_scored_again(runs: dict[str, Seen]) -> None:
    assert 0 < runs["changed"].scored < runs["first"].scored
    assert runs["changed"].reused > 0


def test_a_larger_k_scores_only_the_new_candidates(runs: dict[str, Seen]) -> None:
    assert runs["wider"].reused > 0
    assert runs["wider"].scored == runs["wider"].extra["new_judgments"]


def test_another_threshold_scores_no_judged_pair_again(runs: dict[str, Seen]) -> None:
    assert runs["stricter"].scored == 0
    assert runs["stricter"].labels == set()
    assert set(runs["stricter"].removed.values()) == {"threshold"}


def test_a_round_can_be_ended_again_once_its_staging_is_gone(prepared: World) -> None:
    """Maintenance removes it when the run is over; the judgments are there, and so is what the round cost."""
    run_id, settings = prepared.result["run_id"], prepared.settings
    result = {"scored": 32, "errors": 0, "seconds": 1.0}
    append_event(settings.tables, run_id, "round_0_score_round", result)
    of_round = f"run_id = '{run_id}' AND round = 0"
    before = prepared.rows("round_outcomes", where=of_round)
    n_judged = len(prepared.rows("judgments"))
    shutil.rmtree(settings.staging / "scores")
    ended = stop_early.run(prepared.spark, settings, stop_early.Params(run_id=run_id, round=0))
    after = prepared.rows("round_outcomes", where=of_round)
    by_member = lambda rows: sorted(rows, key=lambda row: row["member_id"])  # noqa: E731
    assert by_member(after) == by_member(before) and sum(row["scored"] for row in after) > 0
    assert ended["committed"] == 32 and len(prepared.rows("judgments")) == n_judged


def test_texts_are_embedded_in_parts_and_an_attempt_goes_on_from_the_last_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put_profiles(PROFILE_TEXTS)
    world.put_catalog(CATALOG_TEXTS)
    run_id = world.pin("in parts")
    scope_members.run(world.spark, world.settings, scope_members.Params(run_id=run_id))
    parts: list[str] = []

    def append_two(rows: Any, root: Path, table: Any, *, transaction: str) -> None:
        if len(parts) == 2:
            raise KeyboardInterrupt
        parts.append(transaction)
        append(rows, root, table, transaction=transaction)

    monkeypatch.setattr(retrieve_candidates, "TEXTS_A_COMMIT", 4)
    params = retrieve_candidates.Params(run_id=run_id)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(retrieve_candidates, "append", append_two)
        retrieve_candidates.run(world.spark, world.settings, params)
    n_kept = len(world.rows("embeddings"))
    again = retrieve_candidates.run(world.spark, world.settings, params)
    hashes = [row["text_hash"] for row in world.rows("embeddings")]
    assert n_kept > 0 and again["texts_embedded"] == len(hashes) - n_kept > 4
    assert len(hashes) == len(set(hashes)) and again["members"] == len(PROFILE_TEXTS)
