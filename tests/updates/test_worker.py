"""The worker: what is away is waited for, nothing that was acknowledged is lost, and nobody works beside it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from jobs.errors import FaultsError, MissingRequirementError
from jobs.kv.lmdb_store import LmdbStore
from jobs.kv.store import StoreAwayError
from jobs.updates import worker as worker_module
from jobs.updates.inbox import Batch, Inbox, open_inbox
from jobs.updates.metrics import UpdateMetrics
from jobs.updates.micro_batch import BatchRun
from jobs.updates.take_in import read_lines, take_in
from jobs.updates.worker import Worker
from mis_scoring.core.errors import EngineError
from tests.published_history import History
from tests.updates.test_inbox import edit
from tests.world import settings_under


class Batches:
    """Stands where `MicroBatches` is: publishes what the batch says, by `tests.published_history`."""

    def __init__(self, made: History) -> None:
        self.made, self.failing, self.ran = made, list[Exception](), list[tuple[str, ...]]()
        self.outdated, self.ids = 0, list[str]()

    def run(self, batch: Batch) -> BatchRun:
        self.ran.append(tuple(update.member_id for update in batch.updates))
        if self.failing:
            raise self.failing.pop()
        self.ids.append(batch.batch_id)
        if self.outdated:
            self.outdated -= 1
            return BatchRun(run_id="pinned-before-the-promotion", state="outdated", seconds={})
        profiles = {**self.made.profiles, **{one.member_id: one.profile_text for one in batch.updates}}
        self.made.put_profiles({member: text for member, text in profiles.items() if text is not None})
        run_id = self.made.run(kind="profile_updates")
        return BatchRun(run_id=run_id, state="published", seconds={})


class Story:
    def __init__(self, folder: Path, **changes: Any) -> None:
        self.settings = settings_under(folder, **changes)
        self.made = History(self.settings)
        self.made.put_catalog({"q0": "nursing of patients", "q1": "baking of bread"})
        self.inbox, self.store, self.batches = open_inbox(self.settings), LmdbStore(folder / "kv"), Batches(self.made)
        self.metrics, self.ending = UpdateMetrics(self.inbox), Event()
        self.worker = Worker(
            settings=self.settings,
            inbox=self.inbox,
            store=self.store,
            batches=self.batches,  # type: ignore[arg-type]
            metrics=self.metrics,
            wake=Event(),
            ending=self.ending,
        )

    def run_until(self, is_done: Callable[[], bool]) -> None:
        """Let the worker run; it is told to end when a look after a step finds that all is done."""
        step = self.worker.step

        def step_and_look() -> bool:
            worked = step()
            if is_done():
                self.ending.set()
            return worked

        object.__setattr__(self.worker, "step", step_and_look)
        self.worker.run()

    def metric(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    monkeypatch.setattr(worker_module, "_WAIT_AT_MOST_S", 0.01)
    found = Story(tmp_path)
    yield found
    found.store.close()
    found.inbox.close()


def test_an_edit_is_readable_once_its_batch_is_published(story: Story) -> None:
    story.inbox.put([edit("ann", 1, "nursing"), edit("bob", 1, "baking")])
    assert story.worker.step() and not story.worker.step()
    ann = story.store.get("ann")
    assert ann is not None and set(ann.scores) == {"q0"}
    assert story.inbox.figures().waiting + story.inbox.figures().taken == 0
    assert story.metric("semlabel_update_readable_seconds_count") == 2
    assert story.metric("semlabel_update_batches_total", state="published") == 1


def test_an_engine_or_delta_that_is_away_is_waited_for_with_the_same_batch(story: Story) -> None:
    story.batches.failing = [OSError("Delta away"), EngineError("no engine")]
    story.inbox.put([edit("ann", 1, "nursing")])
    story.run_until(lambda: story.store.get("ann") is not None)
    assert story.batches.ran == [("ann",)] * 3
    assert story.metric("semlabel_update_failures_total", error="EngineError") == 1


def test_what_other_runs_publish_is_fed_while_a_batch_fails_again_and_again(story: Story) -> None:
    story.batches.failing = [EngineError("no engine")]
    story.inbox.put([edit("ann", 1, "nursing")])
    story.made.put_profiles({"bob": "baking"})
    story.made.run()
    with pytest.raises(EngineError):
        story.worker.step()
    assert story.store.get("bob") is not None and story.store.get("ann") is None


def test_updates_of_a_run_that_is_outdated_are_pinned_anew_in_their_order(story: Story) -> None:
    story.batches.outdated = 1
    story.inbox.put([edit("ann", 1, "nursing"), edit("bob", 1, "baking")])
    assert story.worker.step() and story.inbox.figures().waiting == 2
    assert story.worker.step() and story.store.get("ann") is not None
    assert story.batches.ran == [("ann", "bob")] * 2 and len(set(story.batches.ids)) == 2
    assert not story.worker.step() and story.metric("semlabel_update_batches_total", state="outdated") == 1


def test_what_nobody_expected_ends_the_worker_and_the_next_one_takes_the_batch(story: Story) -> None:
    story.batches.failing = [ZeroDivisionError("a bug")]
    story.inbox.put([edit("ann", 1, "nursing")])
    with pytest.raises(ZeroDivisionError):
        story.worker.run()
    story.run_until(lambda: story.store.get("ann") is not None)
    assert story.batches.ran == [("ann",), ("ann",)]


def test_labels_are_published_while_the_store_is_away_and_fed_when_it_is_back(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = LmdbStore.update

    def fail(*_: Any, **__: Any) -> Any:
        raise StoreAwayError("away")

    story.worker.step()  # the store is filled
    monkeypatch.setattr(LmdbStore, "update", fail)
    story.inbox.put([edit("ann", 1, "nursing")])
    assert story.worker.step() and story.store.get("ann") is None and len(story.made.labels) == 1
    assert story.metric("semlabel_update_failures_total", error="StoreAwayError") == 1
    assert story.metric("semlabel_update_readable_seconds_count") == 0
    monkeypatch.setattr(LmdbStore, "update", update)
    assert not story.worker.step() and story.store.get("ann") is not None
    assert story.metric("semlabel_update_readable_seconds_count") == 1


def test_where_the_source_writes_profiles_an_update_waits_until_they_are_there(tmp_path: Path) -> None:
    story = Story(tmp_path, updates_write_profiles=False)
    story.made.put_profiles({"ann": "nursing"})  # version 1
    story.inbox.put([edit("ann", 1, "nursing"), edit("bob", 1, "baking")])
    assert story.worker.step() and story.batches.ran == [("ann",)]
    assert not story.worker.step() and story.inbox.figures().waiting == 1
    story.store.close()


def test_updates_of_any_source_are_yielded_once_they_are_kept(story: Story, tmp_path: Path) -> None:
    file = tmp_path / "updates.jsonl"
    file.write_text(
        '{"member_id": "ann", "profile_version": 1, "profile_text": "nursing"}\n'
        '{"member_id": "bob", "profile_version": 2, "removed": true}\n'
        '{"member_id": "cat", "profile_version": 2}\n'
    )
    taken = []
    with pytest.raises(FaultsError, match="line 3: 1 fault"):
        for update, outcome in take_in(story.inbox, read_lines(file)):
            taken.append((update, outcome, story.inbox.figures().waiting))
    assert taken == [(edit("ann", 1, "nursing"), "accepted", 1), (edit("bob", 2, None), "accepted", 2)]


HOLD_AND_WAIT = """
import sys, time
from jobs.updates.inbox import Inbox
with Inbox(sys.argv[1]).alone():
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_worker_has_an_inbox_until_it_ends_however_it_does(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'inbox.db'}"
    command = [sys.executable, "-c", HOLD_AND_WAIT, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(MissingRequirementError, match="works on this inbox"), Inbox(url).alone():
            pass
        other.send_signal(signal.SIGKILL)
    with Inbox(url).alone():
        pass
