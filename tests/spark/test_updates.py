"""Micro-batches on real Delta: the rows of a daily run, the same publication, and no older state that wins."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs import publish_labels
from jobs.audit import audit_label
from jobs.input_hold import place_hold
from jobs.kv.feeder import feed
from jobs.kv.from_delta import check_store
from jobs.kv.lmdb_store import LmdbStore
from jobs.labels_commit import LabelsBase
from jobs.settings import Settings
from jobs.table_path import table_path
from jobs.table_reader import pins_of
from jobs.updates.inbox import Inbox
from jobs.updates.micro_batch import MicroBatches, Stopwatch
from jobs.updates.profiles_table import write_profiles
from jobs.updates.rehearsal import rehearse
from jobs.updates.scorer import PairRequest, ScoredPairs
from jobs.updates.update import ProfileUpdate
from schemas.embeddings import EMBEDDINGS
from schemas.profiles import PROFILES
from tests.spark.conftest import CATALOG_TEXTS, PROFILE_TEXTS
from tests.world import World, shares_a_word

EDITS: dict[str, str | None] = {
    "ann": "I worked in welding, baking and planning for years.",
    "bob": None,
    "cat": "...",
    "eve": "Singing; selling. Coding!",
    "fay": "Singing; selling. Coding!",
}


class RuleScorer:
    """Scores as `tests.world` stages scores."""

    def score(self, requests: Sequence[PairRequest]) -> list[ScoredPairs]:
        return [self._one(request) for request in requests]

    def close(self) -> None:
        pass

    def _one(self, request: PairRequest) -> ScoredPairs:
        margins = tuple(shares_a_word(request.query_text, text) for text in request.item_texts)
        n_items = len(margins)
        return ScoredPairs(
            engine='{"engine":"rule"}', margins=margins, is_reference=(False,) * n_items, n_tokens=n_items
        )


class Stream:
    """An inbox and micro-batches over a world's tables."""

    def __init__(self, world: World) -> None:
        self.world, self.inbox = world, Inbox("sqlite://")
        self.batches = MicroBatches(world.settings, lambda *_: RuleScorer(), world.publish)

    def send(self, version: int, **texts: str | None) -> str:
        """Run one batch of edits, twice; returns the run's id."""
        updates = [
            ProfileUpdate(member_id=member, profile_version=version, profile_text=text)
            for member, text in texts.items()
        ]
        assert set(self.inbox.put(updates)) == {"accepted"}
        batch = self.inbox.take(len(updates))
        assert batch is not None
        ran, again = self.batches.run(batch), self.batches.run(batch)
        assert (ran.run_id, ran.state) == (again.run_id, "published") == (ran.run_id, again.state)
        self.inbox.finish(batch.batch_id)
        return ran.run_id

    def prepare(self, trigger_id: str, kind: str, *member_ids: str) -> str:
        """Do all of a run of another kind but its publication; a test below holds the rows to be Spark's."""
        run_id = self.world.pin(trigger_id, kind)
        self.batches.prepare(pins_of(self.world.settings.tables, run_id), member_ids, Stopwatch())
        return run_id


@dataclass
class Story:
    """Two copies of a published world: the same edits by a daily run, and by the stream."""

    daily: World
    streamed: World
    stream: Stream
    daily_run: str
    batch_run: str
    checks: list[dict[str, Any]]


@pytest.fixture(scope="module")
def story(_published: World, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("updates")
    daily, streamed = _published.copy(folder / "daily"), _published.copy(folder / "streamed")
    for world in (daily, streamed):
        world.put_catalog(CATALOG_TEXTS | {"q-nothing": None})
    store = LmdbStore(folder / "kv")
    feed(store, streamed.settings.tables)
    stream = Stream(streamed)
    batch_run = stream.send(2, **EDITS)
    assert feed(store, streamed.settings.tables).runs == 1
    checks = [check_store(store, streamed.settings.tables)]
    store.close()
    double_the_vectors(daily)
    put_edits(daily, EDITS, version=2)
    daily_run = daily.refresh("edits", kind="daily_incremental")["run_id"]
    return Story(daily, streamed, stream, daily_run, batch_run, checks)


def put_edits(world: World, texts: Mapping[str, str | None], *, version: int) -> None:
    """Change profiles as their source would; nobody else's row is touched."""
    rows = {row["member_id"]: row for row in world.rows("profiles")}
    for member, text in texts.items():
        rows[member] = {"member_id": member, "profile_text": text, "profile_version": version}
    world.put(PROFILES, [row for row in rows.values() if texts.get(row["member_id"], "") is not None])


def double_the_vectors(world: World) -> None:
    """As two runs leave them that embedded the same texts at the same time."""
    content = pa.Table.from_pylist(world.rows("embeddings"), EMBEDDINGS.columns)
    write_deltalake(table_path(world.settings.tables, EMBEDDINGS), content, mode="append")


SAME = ("scope", "candidates", "member_rounds", "round_outcomes", "coverage", "label_changes", "quarantine")
OF_A_RUN = {"run_id", "pinned_at", "judged_at", "at", "profiles_delta_version", "stands_run_id", "judged_run_id"}
OF_A_RUN |= {"published_run_id", "since_run_id"}


def comparable(value: Any) -> Any:
    """What is left when runs, times and versions of tables have no name."""
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items() if name not in OF_A_RUN}
    if isinstance(value, list):
        return [comparable(part) for part in value]
    return round(value, 12) if isinstance(value, float) else value  # Java's exp may differ in the last bit


@pytest.mark.parametrize("table", SAME)
def test_the_rows_of_a_micro_batch_are_those_of_a_daily_run(story: Story, table: str) -> None:
    def rows(world: World, run_id: str) -> list[Any]:
        found = comparable(world.rows(table, where=f"run_id = '{run_id}'"))
        return sorted(found, key=lambda row: json.dumps(row, sort_keys=True, default=str))

    streamed = rows(story.streamed, story.batch_run)
    assert streamed == rows(story.daily, story.daily_run) and streamed


@pytest.mark.parametrize("table", ["labels", "judgments", "texts"])
def test_and_so_is_what_they_leave_for_all_runs(story: Story, table: str) -> None:
    worlds = story.streamed, story.daily
    found, expected = ({json.dumps(comparable(row), sort_keys=True) for row in w.rows(table)} for w in worlds)
    assert found == expected and len(story.streamed.rows(table)) == len(found)


def test_a_vector_is_made_once_and_an_entry_that_has_two_is_proposed_once(story: Story) -> None:
    vectors = story.streamed.rows("embeddings", "text_hash")
    assert len(vectors) == len({row["text_hash"] for row in vectors})
    proposed = story.daily.rows("candidates", "member_id, qualification_id", f"run_id = '{story.daily_run}'")
    assert len(proposed) == len({tuple(row.values()) for row in proposed})


def test_the_audit_explains_a_label_of_the_stream_as_any_other(story: Story) -> None:
    found = audit_label(story.streamed.settings, "ann", "q-welding")
    assert (found["state"], found["is_stale"]) == ("accepted", False)
    runs = {name: run["kind"] for name, run in found["runs"].items() if run}
    assert set(runs.values()) == {"profile_updates"} and found["profile"]["profile_version"] == 2
    assert audit_label(story.streamed.settings, "bob", "q-welding")["state"] != "accepted"


def test_the_store_that_was_fed_agrees_with_the_tables(story: Story) -> None:
    assert [check["differences"] for check in story.checks] == [[]] and story.checks[0]["members"] == 6


def test_a_rehearsal_publishes_a_label_of_its_own_and_leaves_nothing(story: Story) -> None:
    world = story.streamed
    before = world.labels(), world.rows("runs", "run_id"), world.rows("profiles", "member_id")
    said = list[Any]()

    def publish(own: Settings, run_id: str) -> Any:
        said.append(publish_labels.run(world.spark, own, publish_labels.Params(run_id=run_id)))
        return said[-1]

    assert rehearse(world.settings, publish) == "published"
    assert said[0]["changes"] == {"added": 1}
    assert (world.labels(), world.rows("runs", "run_id"), world.rows("profiles", "member_id")) == before
    assert not list(world.settings.staging.glob("rehearsal*"))


def test_a_daily_run_that_had_computed_before_does_not_win_over_an_edit_that_takes_its_profile_back(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, labels = story.streamed, story.streamed.labels()
    put_edits(world, {"dan": "On Mondays: driving."}, version=3)
    late = story.stream.prepare("late", "daily_incremental", "dan")
    swap, bases = publish_labels.swap_labels, list[int]()

    def swap_after_the_batch(spark: Any, root: Any, run_id: str, base: LabelsBase, changes: Any) -> int:
        if not bases:
            story.stream.send(4, dan=PROFILE_TEXTS["dan"])
        bases.append(base.n_publications)
        return swap(spark, root, run_id, base, changes)

    monkeypatch.setattr(publish_labels, "swap_labels", swap_after_the_batch)
    published = world.publish(late)
    assert len(bases) == 1, "the batch had nothing to swap, and the late run found nothing the second time"
    assert (published["labels_version"], published["members_left_out"]) == (None, {"superseded": 1})
    assert world.labels() == labels


def test_who_is_on_hold_is_in_no_scope_of_the_stream_and_the_profile_is_written(story: Story) -> None:
    root = story.streamed.settings.tables
    pins = pins_of(root, story.batch_run)
    place_hold(root, pins, "members", undone=pins, reason="a test", who="a test")
    write_profiles(root, [ProfileUpdate(member_id="ann", profile_version=9, profile_text="I enjoy coding.")])
    run_id = story.stream.prepare("on hold", "profile_updates", "ann", "dan")
    scope = story.streamed.rows("scope", "member_id", f"run_id = '{run_id}'")
    assert scope == [{"member_id": "dan"}], "dan's labels stand on another run"
