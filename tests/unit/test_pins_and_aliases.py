"""A run keeps the labeler that it pinned, wherever the alias goes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs import pin_inputs
from jobs.artifact_folder import load_artifact
from jobs.labeler.promote import promote_labeler
from jobs.labeler.registry import register
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_reader import pins_of
from mis_scoring.core.artifact import LabelerArtifact
from schemas.every import UPSTREAM_TABLES
from tests.tiny_labeler import write_tiny_labeler


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setattr(pin_inputs, "_retriever_id", lambda _: "retriever")  # no embedding model is needed here
    made = Settings(home=tmp_path / "home", _env_file=None)  # type: ignore[call-arg]
    create_missing(made.tables, *UPSTREAM_TABLES)
    yield made


def pin(settings: Settings, trigger_id: str) -> str:
    return str(pin_inputs.run(settings, pin_inputs.Params(kind="weekly_full", trigger_id=trigger_id))["run_id"])


def test_a_promotion_changes_the_next_run_and_no_pinned_one(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "labeler"
    old = write_tiny_labeler(folder, candidates_per_round=20)
    register(settings, folder, alias="champion")
    run_id = pin(settings, "monday")
    before = pins_of(settings.tables, run_id)

    LabelerArtifact.load(folder).with_changes(threshold=0.9).save(folder)
    version, new = register(settings, folder, alias=None)
    promote_labeler(settings, version, force_reason="a test")

    assert pin(settings, "monday") == run_id
    again = pins_of(settings.tables, run_id)
    assert again == before
    assert (again.artifact_id, again.threshold) == (old.artifact_id, 0.5)
    assert load_artifact(again).artifact_id == old.artifact_id  # its files are still there
    later = pins_of(settings.tables, pin(settings, "tuesday"))
    assert (later.labeler_version, later.artifact_id, later.threshold) == (version, new.artifact_id, 0.9)
    assert later.scorer_id == again.scorer_id
