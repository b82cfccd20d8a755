"""A batch up to its publication, without Spark, MLflow or a model: scope, candidates, rounds, and how its run ends."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.errors import PySparkException

from jobs import pin_inputs
from jobs.errors import HeldError
from jobs.labeler import registry
from jobs.ledger import CANARY_FAILED, FAILED, PUBLISHED, append_event, write_pins
from jobs.list_runs import list_runs
from jobs.pins import Pins
from jobs.table_reader import query
from jobs.updates import embeddings, micro_batch
from jobs.updates import warm_up as warm_up_module
from jobs.updates.inbox import Batch
from jobs.updates.micro_batch import MicroBatches
from jobs.updates.pinned_catalog import load_catalog
from jobs.updates.scorer import OtherArtifactError, ScorerSetupError
from jobs.updates.warm_up import warm_up
from mis_scoring.core.artifact import digests_of
from mis_scoring.core.errors import DataError, EngineDeadError, EngineError
from mis_scoring.core.prompt import COMPACT
from mis_scoring.engines.canary import CanaryError
from schemas import every
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES
from tests.published_run import make_tables, put
from tests.published_run import pins as pins_of_tables
from tests.ray.round_tables import write_artifact
from tests.updates.test_batch_rounds import Scorer
from tests.updates.test_inbox import edit
from tests.world import settings_under


class Story:
    def __init__(self, folder: Path) -> None:
        self.settings = settings_under(folder)
        self.root, self.scorer, self.published = self.settings.tables, Scorer(), list[str]()
        make_tables(self.root)
        entries = {"q-null": None, "q-long": "entry 9 " + "long " * 200, "q-nothing": "..."}
        rows = [
            {"qualification_id": key, "category": "skill", "text": t, "status": "active"} for key, t in entries.items()
        ]
        put(self.root, CATALOG, [*rows, rows[0] | {"text": "gone", "qualification_id": "q-gone", "status": "retired"}])
        self.artifact_folder = folder / "artifact"
        made = write_artifact(self.artifact_folder)
        (self.artifact_folder / "config.json").write_text('{"max_position_embeddings": 800}')
        artifact = replace(made, digests=digests_of(self.artifact_folder))
        artifact.save(self.artifact_folder)
        self.artifact_id = artifact.artifact_id
        self.batches = MicroBatches(self.settings, lambda *_: self.scorer, self.publish)
        self.ends: Exception | None = None

    def publish(self, run_id: str) -> Mapping[str, Any]:
        self.published.append(run_id)
        if self.ends is not None:
            raise self.ends
        append_event(self.root, run_id, PUBLISHED, {"labels_version": None, "compared_with": 0})
        return {}

    def pin(self, run_id: str) -> Pins:
        return write_pins(self.root, self.pinned(run_id))

    def pinned(self, run_id: str) -> Pins:
        found = pins_of_tables(self.root, run_id, kind="profile_updates")
        ids = {
            "artifact_id": self.artifact_id,
            "artifact_folder": str(self.artifact_folder),
            "candidates_per_member": 6,
        }
        return replace(found, **ids)

    def rows(self, name: str, run_id: str) -> list[dict[str, Any]]:
        table = next(one for one in every.RUN_TABLES if one.name == name)
        return query(self.root, f"SELECT * FROM {name} WHERE run_id = '{run_id}'", table)

    def run(self, *updates: Any) -> Any:
        return self.batches.run(Batch(batch_id="b1", updates=updates, received_s=(0.0,) * len(updates)))


def vectors_of(_: embeddings.Embeddings, texts: list[str]) -> list[np.ndarray]:
    """A direction by the hash of a text; none for what holds no letter."""
    found = []
    for text in texts:
        draw = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big"))
        found.append(draw.standard_normal(384).astype(np.float32) * any(map(str.isalnum, text)))
    return found


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    found = Story(tmp_path)
    monkeypatch.setattr(embeddings.Embeddings, "_embed", vectors_of)

    def pin(_: Any, params: pin_inputs.Params) -> dict[str, Any]:
        return {"run_id": found.pin(f"profile_updates-{params.trigger_id}").run_id}

    monkeypatch.setattr(pin_inputs, "run", pin)
    return found


def test_a_batch_walks_from_the_profiles_to_its_outcomes_and_sets_faults_aside(story: Story) -> None:
    ran = story.run(
        edit("ann", 2, "Entry 1 and nursing."), edit("bob", 2, None), edit("cat", 2, "..."), edit("new", 1, "baking")
    )
    assert (ran.state, story.published) == ("published", ["profile_updates-b1"])
    scope = {row["member_id"]: row for row in story.rows("scope", ran.run_id)}
    assert {member: row["reason"] for member, row in scope.items()} == {
        "ann": "first_time", "bob": "member_removed", "cat": "first_time", "new": "first_time"
    }  # fmt: skip
    assert scope["cat"]["profile_hash"] is None and scope["ann"]["profile_version"] == 2
    candidates = story.rows("candidates", ran.run_id)
    assert {row["member_id"] for row in candidates} == {"ann", "new"} and len(candidates) == 12
    assert not {row["qualification_id"] for row in candidates} & {"q-null", "q-long", "q-nothing", "q-gone"}
    aside = {row["key"]: row["reason"] for row in story.rows("quarantine", ran.run_id)}
    assert aside.pop("q-long").endswith("the labeler takes 100 an item")
    assert aside == {
        "cat": "profile_text holds no text", "q-null": "text is null", "q-nothing": "text holds no text"
    }  # fmt: skip
    assert {row["member_id"] for row in story.rows("round_outcomes", ran.run_id)} == {"ann", "new"}
    (line,) = list_runs(story.settings, limit=1)
    assert (line["kind"], line["members"], line["state"]) == ("profile_updates", 3, "published")
    assert line["seconds"] > 0


def test_a_batch_that_was_published_before_it_was_finished_is_left_as_it_is(story: Story) -> None:
    story.run(edit("ann", 2, "nursing"))
    before = story.rows("member_rounds", "profile_updates-b1")
    assert story.run(edit("ann", 2, "nursing")).state == "published" and len(story.published) == 1
    assert story.rows("member_rounds", "profile_updates-b1") == before


def test_a_batch_that_died_at_its_publication_goes_on_with_what_it_has(story: Story) -> None:
    story.ends = OSError("Spark away")
    with pytest.raises(OSError):
        story.run(edit("ann", 2, "nursing"))
    asked, story.ends = list(story.scorer.asked), None
    assert story.run(edit("ann", 2, "nursing")).state == "published"
    assert story.scorer.asked == asked, "nothing is scored twice"


@pytest.mark.parametrize(
    ("ends", "state"), [(HeldError("r", ["labels removed"]), "held"), (DataError("no entry"), "failed")]
)
def test_a_run_that_is_held_or_would_fail_again_is_done_with_for_the_stream(
    story: Story, ends: Exception, state: str
) -> None:
    story.ends = ends
    ran = story.run(edit("ann", 2, "nursing"))
    assert ran.state == state
    failed = query(story.root, f"SELECT event FROM runs WHERE event = '{FAILED}'", every.RUNS)
    assert len(failed) == (state == "failed")
    profile = query(story.root, "SELECT profile_text FROM profiles WHERE member_id = 'ann'", PROFILES)
    assert profile == [{"profile_text": "nursing"}], "so that the next refresh has the member in scope"


def test_a_batch_that_may_take_more_than_a_ceiling_scores_nothing_and_is_left_to_the_next_refresh(
    story: Story,
) -> None:
    def batches(**ceilings: Any) -> MicroBatches:
        settings = story.settings.model_copy(update=ceilings)
        return MicroBatches(settings, lambda *_: story.scorer, story.publish)

    def batch(number: int) -> Batch:
        return Batch(batch_id=f"b{number}", updates=(edit("ann", number, f"nursing {number}"),), received_s=(0.0,))

    ran = batches(max_pairs=5).run(batch(1))
    assert (ran.state, story.scorer.asked, story.published) == ("failed", [], [])
    sql = f"SELECT payload FROM runs WHERE event = '{FAILED}'"
    (failed,) = query(story.root, sql, every.RUNS)
    assert "may score 6 pairs, and SEMLABEL_MAX_PAIRS is 5" in failed["payload"]
    assert batches(max_cost_usd=1.0).run(batch(2)).state == "failed", "what it costs is not known yet"
    assert batches(max_pairs=6).run(batch(3)).state == "published" and story.scorer.asked


def test_where_the_source_writes_profiles_the_batch_does_not(story: Story) -> None:
    story.settings = story.settings.model_copy(update={"updates_write_profiles": False})
    batches = MicroBatches(story.settings, lambda *_: story.scorer, story.publish)
    before = query(story.root, "SELECT * FROM profiles ORDER BY member_id", PROFILES)
    batches.run(Batch(batch_id="b2", updates=(edit("ann", 2, "nursing"),), received_s=(0.0,)))
    assert query(story.root, "SELECT * FROM profiles ORDER BY member_id", PROFILES) == before


class Making:
    """Makes scorers that end as the test says, and notes which are closed."""

    def __init__(self, *ends: Exception | None) -> None:
        self.ends, self.made, self.closed = list(ends), 0, list[int]()
        self.set_up: Exception | None = None

    def __call__(self, *_: Any) -> "Noted":
        if self.set_up is not None:
            raise self.set_up
        self.made += 1
        return Noted(self, self.made)


class Noted(Scorer):
    def __init__(self, making: Making, number: int) -> None:
        super().__init__()
        self.making, self.number = making, number

    def score(self, requests: Any) -> Any:
        if self.making.ends and (end := self.making.ends.pop(0)) is not None:
            raise end
        return super().score(requests)

    def close(self) -> None:
        self.making.closed.append(self.number)


def events_of(story: Story, event: str) -> list[str]:
    rows = query(story.root, f"SELECT payload FROM runs WHERE event = '{event}'", every.RUNS)
    return [row["payload"] for row in rows]


def remake(story: Story, making: Making) -> None:
    story.batches = MicroBatches(story.settings, making, story.publish)


def test_a_fault_of_the_settings_is_no_fault_of_the_batch_which_waits(story: Story) -> None:
    making = Making()
    making.set_up = DataError("updates_scorer_token_file /gone cannot be read")
    remake(story, making)
    with pytest.raises(ScorerSetupError, match="token_file /gone cannot be read; batches wait"):
        story.run(edit("ann", 2, "nursing"))
    assert not events_of(story, FAILED)
    making.set_up = None
    assert story.run(edit("ann", 2, "nursing")).state == "published"


def test_a_run_whose_labeler_was_replaced_is_closed_and_one_whose_server_is_behind_waits(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.settings = story.settings.model_copy(update={"labeler_name": "tiny"})
    remake(story, Making(*[OtherArtifactError("another is served")] * 3))
    champion: list[str | None] = ["1"]
    monkeypatch.setattr(registry, "champion_version", lambda _: champion[0])
    for now in ("1", None):  # MLflow is away
        champion[0] = now
        with pytest.raises(OtherArtifactError):
            story.run(edit("ann", 2, "nursing"))
    assert not events_of(story, FAILED)
    champion[0] = "2"
    assert story.run(edit("ann", 2, "nursing")).state == "outdated"
    (failed,) = events_of(story, FAILED)
    assert "another is served" in failed and not story.published


def test_a_dead_engine_is_closed_and_a_new_one_goes_on(story: Story) -> None:
    making = Making(EngineDeadError("its process ended"))
    remake(story, making)
    with pytest.raises(EngineDeadError):
        story.run(edit("ann", 2, "nursing"))
    assert making.closed == [1]
    assert story.run(edit("ann", 2, "nursing")).state == "published" and making.made == 2
    making.ends = [EngineError("busy")]
    with pytest.raises(EngineError):
        story.batches.run(Batch(batch_id="b2", updates=(edit("ann", 3, "baking"),), received_s=(0.0,)))
    assert making.closed == [1], "what only failed is kept"
    story.batches.close()
    assert making.closed == [1, 2]


def test_an_engine_whose_canary_failed_is_never_asked_again_and_each_run_it_stops_says_so_once(story: Story) -> None:
    making = Making(CanaryError("fake", ["poisoned neighbour"]))
    remake(story, making)
    for _ in range(2):
        with pytest.raises(CanaryError, match="poisoned neighbour"):
            story.run(edit("ann", 2, "nursing"))
    assert (making.made, making.closed, story.published) == (1, [1], [])
    (told,) = events_of(story, CANARY_FAILED)
    assert "poisoned neighbour" in told and '"round":0' in told
    with pytest.raises(CanaryError):
        story.batches.run(Batch(batch_id="b2", updates=(edit("ann", 3, "baking"),), received_s=(0.0,)))
    assert making.made == 1 and len(events_of(story, CANARY_FAILED)) == 2


def test_the_scorer_of_another_artifact_takes_the_place_of_the_one_before_which_is_closed(story: Story) -> None:
    making = Making()
    remake(story, making)
    story.run(edit("ann", 2, "nursing"))
    made = write_artifact(story.artifact_folder.parent / "another", tie_eps=0.5)
    story.artifact_folder = story.artifact_folder.parent / "another"
    (story.artifact_folder / "config.json").write_text('{"max_position_embeddings": 800}')
    artifact = replace(made, digests=digests_of(story.artifact_folder))
    artifact.save(story.artifact_folder)
    story.artifact_id = artifact.artifact_id
    story.batches.run(Batch(batch_id="b2", updates=(edit("ann", 3, "baking"),), received_s=(0.0,)))
    assert (making.made, making.closed) == (2, [1])


def warm(story: Story, *, feed: Any = lambda: None, publish: Any = None) -> bool:
    return warm_up(story.settings, story.batches, publish or (lambda *_: {}), feed=feed)


def test_what_the_first_edit_needs_is_loaded_before_it_comes_and_no_run_is_pinned(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    making, loaded, fed = Making(), list[str](), list[int]()
    remake(story, making)
    monkeypatch.setattr(pin_inputs, "resolve", lambda _, __, run_id: story.pinned(run_id))
    monkeypatch.setattr(micro_batch, "load_catalog", lambda *args: (loaded.append("catalog"), load_catalog(*args))[1])
    monkeypatch.setattr(warm_up_module, "rehearse", lambda *_: "published")
    assert warm(story, feed=lambda: fed.append(1))
    assert (making.made, loaded, fed) == (1, ["catalog"], [1])
    assert not query(story.root, "SELECT * FROM runs", every.RUNS)
    assert story.run(edit("ann", 2, "nursing")).state == "published"
    assert (making.made, loaded) == (1, ["catalog"])


@pytest.mark.parametrize("error", [DataError("no champion"), OSError("no disk"), PySparkException("no Spark")])
def test_what_is_away_at_the_start_is_left_to_the_first_edit(
    story: Story, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(pin_inputs, "resolve", fail)
    assert not warm(story)


class Prefilling(Noted):
    """Notes what goes ahead, and what was asked while it did."""

    def __init__(self, making: Making, ahead: list[tuple[str, ...]]) -> None:
        super().__init__(making, 1)
        self.ahead = ahead

    @contextmanager
    def asking(self, query_texts: Sequence[str]) -> Iterator[None]:
        assert not self.asked, "before the first item is known"
        self.ahead.append(tuple(query_texts))
        yield
        assert self.asked


@pytest.mark.parametrize(("changes", "goes_ahead"), [({}, True), ({"max_pairs": 100}, False)])
def test_queries_go_ahead_to_a_server_while_their_items_are_retrieved_unless_there_is_a_ceiling(
    story: Story, changes: dict[str, Any], goes_ahead: bool
) -> None:
    making, ahead = Making(), list[tuple[str, ...]]()
    story.settings = story.settings.model_copy(update={"updates_scorer": "127.0.0.1:1", **changes})
    story.batches = MicroBatches(story.settings, lambda *_: Prefilling(making, ahead), story.publish)
    assert story.run(edit("ann", 2, "nursing"), edit("bob", 2, None), edit("cat", 2, "...")).state == "published"
    assert ahead == ([(COMPACT.render_query("nursing"),)] if goes_ahead else [])
