"""Publishing: two at once, one that comes late, one that is killed. Nothing is lost and the older never wins."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from deltalake import write_deltalake
from pyspark.sql.pandas.types import from_arrow_schema

from jobs import publish_labels
from jobs.errors import HeldError
from jobs.hold import approve
from jobs.labels_commit import LabelsBase, LostRaceError, swap_labels
from jobs.list_runs import list_runs
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from tests.spark.conftest import PROFILE_TEXTS
from tests.world import World


def test_of_two_publishers_at_once_the_older_never_wins(prepared: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newer run publishes between the older one's computation and its commit."""
    world, older = prepared, prepared.result["run_id"]
    world.put_profiles(PROFILE_TEXTS | {"bob": "Experienced in baking."}, version=2)
    newer = world.prepare("newer")

    swap, results, computed_against = publish_labels.swap_labels, {}, []

    def swap_after_the_newer(spark: Any, root: Any, run_id: str, base: LabelsBase, changes: Any) -> int:
        computed_against.append((run_id, base.version))
        if run_id == older and newer not in results:
            results[newer] = None
            results[newer] = world.publish(newer)
        return swap(spark, root, run_id, base, changes)

    monkeypatch.setattr(publish_labels, "swap_labels", swap_after_the_newer)
    results[older] = world.publish(older)

    assert computed_against == [(older, 0), (newer, 0)], "the older lost the race and found nothing left to change"
    assert results[newer]["labels_version"] == 1 and results[older]["labels_version"] is None
    assert results[older]["members_left_out"] == {"superseded": 1}
    assert {label for label in world.labels() if label[0] == "bob"} == {("bob", "q-baking")}
    assert {member for member, _ in world.labels()} == {"ann", "bob", "dan"}, "and nobody lost anything"
    for run_id in (older, newer):
        assert world.publish(run_id) == results[run_id], "publishing again changes nothing"
    assert world.version(LABELS) == 1


def test_a_commit_of_maintenance_between_two_publishers_hides_neither_from_the_other(world: World) -> None:
    root = world.settings.tables
    create_missing(root, LABELS)
    first = LabelsBase.of(root)
    write_deltalake(table_path(root, LABELS), LABELS.columns.empty_table(), mode="append")  # as a compaction would
    second = LabelsBase.of(root)
    assert (first.version, second.version) == (0, 1)
    label = dict.fromkeys(LABELS.columns.names, "x") | {"score": 0.9, "threshold": 0.5}
    label |= {"profile_version": 1, "rank": 0, "round": 0}
    change = {"run_id": "r", "member_id": "x", "qualification_id": "x", "change": "added", "reason": "first_time"}
    rows = [change | {"before": None, "after": label}]
    changes = world.spark.createDataFrame(rows, from_arrow_schema(LABEL_CHANGES.columns))
    assert swap_labels(world.spark, root, "one", first, changes) == 2
    with pytest.raises(LostRaceError, match="labels moved past version 1 while other was published"):
        swap_labels(world.spark, root, "other", second, changes)


def test_a_publication_past_a_limit_is_held_until_somebody_approves(prepared: World) -> None:
    world = prepared
    world.settings = world.settings.model_copy(update={"hold_removed": 0.4, "hold_ignores_below": 0})
    assert world.publish(world.result["run_id"])["changes"] == {"added": 6}, "the first publication is not held"
    world.put_profiles({"bob": "I worked in nursing.", "cat": None, "eve": "On Sundays: singing."}, version=2)
    run_id = world.prepare("second", kind="daily_incremental")
    assert world.scope["reasons"] == {"first_time": 1, "profile_changed": 2} and world.scope["members_removed"] == 2

    labels = world.labels()
    for _ in range(2):
        with pytest.raises(HeldError, match=r"labels removed: 6 of 6 \(100.0%\), limit 40.0%") as raised:
            world.publish(run_id)
        assert "members quarantined: 1 of 3" in str(raised.value)
    assert (world.labels(), world.version(LABELS)) == (labels, 1)
    assert [run["state"] for run in list_runs(world.settings, limit=1)] == ["held"]

    approve(world.settings, run_id)
    assert world.publish(run_id)["changes"] == {"added": 2, "removed": 6}
    assert world.labels() == {("bob", "q-nursing"), ("eve", "q-singing")}


KILL_SELF = """
import os, signal, sys
from jobs import publish_labels
from jobs.settings import Settings
from jobs.spark_session import spark_session
swap = publish_labels.swap_labels
def swap_and_die(*args):
    swap(*args)
    os.kill(os.getpid(), signal.SIGKILL)
publish_labels.swap_labels = swap_and_die
settings = Settings()
with spark_session(settings, "test") as spark:
    publish_labels.run(spark, settings, publish_labels.Params(run_id=sys.argv[1]))
"""


class EndedBeforeItsCommitError(BaseException):
    """Nothing catches it: what it leaves is what a kill there would."""


@pytest.mark.slow
def test_a_publisher_that_ends_before_or_after_its_commit_leaves_the_same_tables(
    prepared: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, run_id = prepared, prepared.result["run_id"]

    def end(*_: Any) -> int:
        raise EndedBeforeItsCommitError

    with monkeypatch.context() as patched, pytest.raises(EndedBeforeItsCommitError):
        patched.setattr(publish_labels, "swap_labels", end)
        world.publish(run_id)
    assert world.labels() == set() and world.rows("runs", where="event = 'published'") == []

    kill_after_the_commit(world, run_id)
    expected = world.labels()
    assert len(expected) == 6 and world.rows("runs", where="event = 'published'") == []

    world.pin("the next run")
    published = world.rows("runs", where="event = 'published'")
    assert [row["run_id"] for row in published] == [run_id], "the next pin repaired the event"
    assert world.publish(run_id)["changes"] == {"added": 6}
    assert (world.labels(), world.version(LABELS)) == (expected, 1)


def kill_after_the_commit(world: World, run_id: str) -> None:
    """Publish in a process that ends itself with SIGKILL after its commit on `labels`."""
    settings = world.settings
    env = os.environ | {"SEMLABEL_HOME": str(settings.home), "SEMLABEL_MLFLOW_URI": settings.mlflow_uri}
    done = subprocess.run([sys.executable, "-c", KILL_SELF, run_id], env=env, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
