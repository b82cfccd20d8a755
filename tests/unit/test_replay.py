"""Decisions made again from texts by the pinned labeler, with a real MLflow, a real model and real engines."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner

from jobs.audit import audit_label
from jobs.cli import app
from jobs.errors import MissingRequirementError
from jobs.labeler.registry import PinnedLabeler, register
from jobs.mlflow_client import registry_client
from jobs.replay.replay_labels import replay_labels
from jobs.replay.rescore import Rescorer
from jobs.settings import Settings
from jobs.table_path import table_path
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError
from mis_scoring.core.prompt import COMPACT
from schemas.judgments import JUDGMENTS
from schemas.labels import LABELS
from schemas.table import Table
from schemas.texts import TEXTS
from tests.published_history import History
from tests.tiny_labeler import write_tiny_labeler
from tests.world import settings_under

CATALOG = {f"q{number}": f"{number} years as a nurse or accountant" for number in range(6)}
PROFILES = {"ann": "nurse of 4 years", "bob": "tax accountant", "dan": "degree, licence", "eve": "of years and years"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published run of which every margin is the cascade engine's; version 2 of the labeler is the champion since."""
    home = tmp_path_factory.mktemp("replay")
    settings = settings_under(home, engine_threads=1)
    folder = home / "labeler"
    artifact = write_tiny_labeler(folder)
    engine = Rescorer.of(_labeler(folder, artifact), "cascade", threads=1)
    margins = {
        (query, item): engine.margins(query, [item])[0]
        for query in map(COMPACT.render_query, PROFILES.values())
        for item in map(COMPACT.render_item, CATALOG.values())
    }
    cut = (min(margins.values()) + max(margins.values())) / 2
    artifact = replace(artifact, threshold=1 / (1 + exp(-cut)))  # random weights decide something
    artifact.save(folder)
    version, _ = register(settings, folder, alias="champion")
    made = History(settings, margins=lambda query, item: margins[query, item])
    made.pinned = {"labeler": settings.labeler_name, "labeler_version": version, "artifact_id": artifact.artifact_id}
    made.pinned |= {"scorer_id": artifact.scorer_id, "artifact_folder": "gone", "threshold": artifact.threshold}
    made.put_profiles(PROFILES)
    made.put_catalog(CATALOG)
    made.run()
    replace(artifact, threshold=0.9999).save(folder)
    register(settings, folder, alias="champion")
    return home


def _labeler(folder: Path, artifact: LabelerArtifact) -> PinnedLabeler:
    return PinnedLabeler(name="tiny", version="1", folder=folder, artifact=artifact)


@pytest.fixture
def settings(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The tables of the test's own, beside the one MLflow."""
    shutil.copytree(written / "tables", tmp_path / "tables")
    monkeypatch.setenv("SEMLABEL_HOME", str(tmp_path))
    monkeypatch.setenv("SEMLABEL_MLFLOW_URI", f"sqlite:///{written / 'mlflow.db'}")
    monkeypatch.setenv("SEMLABEL_ENGINE_THREADS", "1")
    return Settings(_env_file=None)  # type: ignore[call-arg]


def rows(settings: Settings, table: Table) -> list[dict[str, Any]]:
    return DeltaTable(table_path(settings.tables, table)).to_pyarrow_table().to_pylist()


def change(settings: Settings, table: Table, changed: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Replace each row of a table by what the function makes of it; None drops it."""
    kept = [row for row in map(changed, rows(settings, table)) if row is not None]
    write_deltalake(table_path(settings.tables, table), pa.Table.from_pylist(kept, table.columns), mode="overwrite")


def test_labels_come_out_the_same_on_the_reference_and_on_the_engine(settings: Settings) -> None:
    n_labels = len(rows(settings, LABELS))
    assert n_labels >= 4
    for engine in (None, "cascade"):
        result = replay_labels(settings, engine=engine)
        assert (result["n_labels"], result["n_same"], result["mismatches"]) == (n_labels, n_labels, [])
        assert result["max_difference"] <= 1e-4, "the artifact's tie_eps"


def test_the_draw_is_by_seed_and_no_larger_than_asked(settings: Settings) -> None:
    def drawn(seed: int) -> list[str]:
        broken = replay_labels(settings, n_sample=2, seed=seed, tolerance=-1.0)["mismatches"]
        return [one["member_id"] + one["qualification_id"] for one in broken]

    assert len(drawn(1)) == 2 and drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(4)}) > 1


MISMATCHES: dict[str, tuple[Table, Callable[[dict[str, Any]], dict[str, Any] | None]]] = {
    "text_missing": (TEXTS, lambda row: None if row["kind"] == "query" else row),
    "text_altered": (TEXTS, lambda row: row | {"text": row["text"] + "."}),
    "judgment_missing": (JUDGMENTS, lambda row: None),
    "score_altered": (LABELS, lambda row: row | {"score": row["score"] + 0.01}),
    "margin": (JUDGMENTS, lambda row: row | {"margin": row["margin"] + 0.001}),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_what_was_changed_since_is_named_label_by_label(settings: Settings, name: str) -> None:
    change(settings, *MISMATCHES[name])
    done = CliRunner().invoke(app, ["replay", "--json"], catch_exceptions=False)
    result = json.loads(done.stdout)
    assert done.exit_code == 1 and result["n_same"] == 0
    assert {one["mismatch"] for one in result["mismatches"]} == {name}
    assert len(result["mismatches"]) == result["n_mismatches"] == len(rows(settings, LABELS))


def test_a_label_that_the_labeler_does_not_give_is_a_wrong_decision(settings: Settings) -> None:
    names = ("query_hash", "item_hash", "score")
    lowest = min(row["score"] for row in rows(settings, LABELS))
    rejected = next(row for row in rows(settings, JUDGMENTS) if row["score"] < lowest)
    change(settings, LABELS, lambda row: row | {name: rejected[name] for name in names})
    wrong = replay_labels(settings, n_sample=1)["mismatches"]
    assert [one["mismatch"] for one in wrong] == ["decision"] and "against the cut" in wrong[0]["detail"]


def test_an_artifact_that_mlflow_lost_is_named(settings: Settings, written: Path) -> None:
    other = settings.model_copy(update={"home": settings.home / "other"})
    folder = settings.home / "labeler"
    shutil.copytree(written / "labeler", folder)
    own = other.model_copy(update={"mlflow_uri": f"sqlite:///{settings.home / 'own.db'}"})
    register(own.model_copy(update={"table_root": settings.tables}), folder, alias=None)
    result = replay_labels(own.model_copy(update={"table_root": settings.tables}), n_sample=1)
    assert [one["mismatch"] for one in result["mismatches"]] == ["artifact_missing"]
    assert "the run pinned" in result["mismatches"][0]["detail"], "version 1 there is another artifact"


def test_one_pair_is_replayed_also_where_it_was_rejected(settings: Settings) -> None:
    pairs = [(member, entry) for member in PROFILES for entry in CATALOG]
    states = {audit_label(settings, *pair)["state"]: pair for pair in pairs}
    for member, entry in (states["accepted"], states["rejected"]):
        done = CliRunner().invoke(app, ["replay", "--member", member, "--qualification", entry], catch_exceptions=False)
        assert done.exit_code == 0 and done.output.startswith("same: 1 of 1"), done.output


def test_the_audit_asks_mlflow_for_a_labeler_that_is_not_staged_any_more(settings: Settings) -> None:
    label = rows(settings, LABELS)[0]
    found = audit_label(settings, label["member_id"], label["qualification_id"])["artifact"]
    assert found["labeler_version"] == "1" and found["tie_eps"] == 1e-4 and found["prompt_digest"] is not None


def test_a_run_and_a_member_narrow_the_draw(settings: Settings) -> None:
    member = rows(settings, LABELS)[0]["member_id"]
    assert replay_labels(settings, run_id="run-1", member_id=member, n_sample=1)["n_labels"] == 1
    with pytest.raises(DataError, match="no published run"):
        replay_labels(settings, run_id="run-9")
    with pytest.raises(MissingRequirementError, match="No published label of member 'nobody'"):
        replay_labels(settings, member_id="nobody")
    with pytest.raises(DataError, match="not_in_catalog"):
        replay_labels(settings, member_id="ann", qualification_id="q9")
    assert CliRunner().invoke(app, ["replay", "--qualification", "q1"]).exit_code == 2


def test_the_champion_of_today_has_no_say(settings: Settings) -> None:
    """Its threshold would reject what the pinned version accepted."""
    champion = registry_client(settings).get_model_version_by_alias(settings.labeler_name, "champion")
    assert str(champion.version) == "2"
    assert replay_labels(settings, n_sample=3)["n_same"] == 3
    staged = [LabelerArtifact.load(folder).threshold for folder in (settings.staging / "artifacts").iterdir()]
    assert staged == [rows(settings, LABELS)[0]["threshold"]]
