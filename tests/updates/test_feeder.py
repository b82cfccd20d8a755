"""The key-value store is fed from publications alone, in whatever passes, and ends as the tables are."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.kv import feeder
from jobs.kv.feeder import feed, rebuild
from jobs.kv.from_delta import PublishedLabels, check_store, read_published
from jobs.kv.lmdb_store import LmdbStore
from jobs.kv.published import published_since, read_content
from jobs.kv.store import LabelStore, StoreAwayError
from jobs.kv.value import Position
from jobs.ledger import PUBLISHED
from schemas.coverage import COVERAGE
from tests.published_history import History
from tests.published_run import append_events, put
from tests.world import settings_under

CATALOG = {"q0": "nursing of patients", "q1": "baking of bread", "q2": "welding of pipes", "q3": "singing"}


@pytest.fixture
def made(tmp_path: Path) -> History:
    history = History(settings_under(tmp_path / "home"))
    history.put_catalog(CATALOG)
    return history


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LabelStore]:
    found = LmdbStore(tmp_path / "kv")
    yield found
    found.close()


def publish(made: History, **profiles: str) -> str:
    made.put_profiles(profiles)
    return made.run()


def held(store: LabelStore, member_id: str) -> set[str] | None:
    value = store.get(member_id)
    return None if value is None else set(value.scores)


def test_a_store_that_is_empty_is_filled_and_then_follows_run_by_run(made: History, store: LabelStore) -> None:
    publish(made, ann="nursing", bob="baking", dan="nothing")
    assert feed(store, made.root).is_rebuilt
    assert held(store, "ann") == {"q0"} and held(store, "dan") == set() and store.get("cat") is None
    run_id = publish(made, ann="nursing, baking", cat="singing", dan="nothing")
    assert (feed(store, made.root).runs, feed(store, made.root).runs) == (1, 0)
    ann, bob = store.get("ann"), store.get("bob")
    assert ann is not None and set(ann.scores) == {"q0", "q1"} and ann.run_id == run_id
    assert ann.scores["q1"] == made.labels["ann", "q1"]["score"]
    assert bob is not None and bob.is_removed and not bob.scores
    assert check_store(store, made.root) == {
        "agrees": True, "members": 4, "runs_behind": 0, "n_differences": 0, "differences": []
    }  # fmt: skip


def test_a_run_that_changed_no_label_says_that_the_labels_are_as_new_as_it(made: History, store: LabelStore) -> None:
    publish(made, ann="nursing")
    feed(store, made.root)
    run_id = made.run()
    feed(store, made.root)
    ann = store.get("ann")
    assert ann is not None and (ann.run_id, ann.labels_version) == (run_id, 1)
    assert check_store(store, made.root)["agrees"]


def test_runs_that_are_not_published_are_not_fed(made: History, store: LabelStore) -> None:
    publish(made, ann="nursing")
    feed(store, made.root)
    made.put_profiles({"ann": "singing"})
    labels = dict(made.labels)
    made.run(published=False)
    made.labels = labels
    assert feed(store, made.root).runs == 0 and held(store, "ann") == {"q0"}


def test_who_was_left_out_of_a_published_run_keeps_what_stands(made: History, store: LabelStore) -> None:
    publish(made, ann="nursing")
    feed(store, made.root)
    before = store.get("ann")
    left_out = made.coverage["ann"] | {"is_complete": False, "incomplete_reason": "superseded", "run_id": "run-2"}
    put(made.root, COVERAGE, [left_out])
    event = {"labels_version": None, "compared_with": 1, "changes": {}}
    append_events(made.root, "run-2", {PUBLISHED: event}, at=made.at("run-2"))
    assert feed(store, made.root).runs == 1 and store.get("ann") == before


class DiesAfter:
    """A store whose writer is gone after some changes."""

    def __init__(self, store: LabelStore, n_updates: int) -> None:
        self.store, self.left = store, n_updates

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def update(self, *arguments: Any, **options: Any) -> None:
        if self.left == 0:
            raise StoreAwayError("killed")
        self.left -= 1
        self.store.update(*arguments, **options)


class RebuiltBefore(DiesAfter):
    """A store that somebody else fills with an older state, before one of the feeder's changes."""

    older: PublishedLabels

    def update(self, *arguments: Any, **options: Any) -> None:
        if self.left == 0:
            self.store.replace_all(self.older.values, self.older.position)
        self.left -= 1
        self.store.update(*arguments, **options)


@pytest.mark.parametrize("n_updates", range(4))
def test_a_rebuild_of_an_older_state_between_two_publications_loses_nothing_for_good(
    made: History, store: LabelStore, n_updates: int
) -> None:
    publish(made, ann="nursing", bob="baking")
    feed(store, made.root)
    older = read_published(made.root)
    publish(made, ann="baking", bob="baking")
    feed(store, made.root)
    publish(made, ann="baking", bob="singing")
    publish(made, ann="baking", bob="singing", cat="nursing")
    other = RebuiltBefore(store, n_updates)
    other.older = older
    feed(other, made.root)  # type: ignore[arg-type]
    found = check_store(store, made.root)
    assert (found["agrees"], found["runs_behind"]) == (True, 0)
    assert held(store, "ann") == {"q1"} and held(store, "cat") == {"q0"}


@pytest.mark.parametrize("n_updates", range(5))
def test_a_feeder_that_dies_anywhere_goes_on_and_ends_as_the_tables_are(
    made: History, store: LabelStore, n_updates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeder, "_MEMBERS_AT_ONCE", 1)
    publish(made, ann="nursing")
    feed(store, made.root)
    publish(made, ann="baking", bob="singing")
    publish(made, ann="baking, welding")
    with pytest.raises(StoreAwayError, match="killed"):
        feed(DiesAfter(store, n_updates), made.root)  # type: ignore[arg-type]
    feed(store, made.root)
    assert check_store(store, made.root)["agrees"] and held(store, "ann") == {"q1", "q2"}


def test_an_older_run_that_comes_late_changes_nothing_of_a_newer_state(made: History, store: LabelStore) -> None:
    publish(made, ann="nursing")
    (late,) = published_since(made.root, Position())
    publish(made, ann="baking")
    rebuild(store, made.root)
    before = store.get("ann")
    store.update(["ann"], read_content(made.root, late).next_value, Position())
    assert store.get("ann") == before


def test_a_check_names_who_differs_and_how_and_a_rebuild_mends_it(made: History, store: LabelStore) -> None:
    publish(made, ann="nursing", bob="baking")
    feed(store, made.root)
    bob, position = store.get("bob"), store.position()
    assert bob is not None and position is not None
    store.update(["bob"], lambda *_: replace(bob, scores={"q9": 0.5}), position)
    store.update(["eve"], lambda *_: replace(bob, member_id="eve"), position)
    publish(made, ann="singing", bob="baking")
    found = check_store(store, made.root)
    assert (found["agrees"], found["runs_behind"], found["n_differences"]) == (False, 1, 3)
    by_member = {row["member_id"]: row for row in found["differences"]}
    assert by_member["bob"]["store"]["scores"] == {"q9": 0.5} and by_member["eve"]["tables"] is None
    assert rebuild(store, made.root) == 2
    assert check_store(store, made.root)["agrees"]


def test_tables_that_no_run_has_made_yet_give_an_empty_store(tmp_path: Path, store: LabelStore) -> None:
    assert feed(store, tmp_path / "nothing").is_rebuilt and feed(store, tmp_path / "nothing").runs == 0
