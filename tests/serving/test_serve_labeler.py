"""`semlabel serve`: the champion of MLflow, with the settings of the environment."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from jobs.labeler.registry import PinnedLabeler, register
from jobs.serve_labeler import _other_champion, server_settings, spec_of
from jobs.settings import Settings
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.readout import FloatArray
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.serving.client import ScoringClient
from mis_scoring.serving.settings import ServerSettings
from tests.ray.fake_engines import NUDGE, FakeEngine
from tests.ray.round_tables import write_artifact
from tests.serving.steered_engine import ENGINE

TIE_EPS = 0.25
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "var", engine=ENGINE, _env_file=None)  # type: ignore[call-arg]


@pytest.fixture
def artifact(tmp_path: Path) -> LabelerArtifact:
    return write_artifact(tmp_path / "artifact", tie_eps=TIE_EPS)


@contextmanager
def _semlabel(home: Path, *arguments: str, **env: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "jobs.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SEMLABEL_HOME": str(home), "SEMLABEL_ENGINE": ENGINE, **env},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _expected(
    artifact: LabelerArtifact, folder: Path, query: str, items: list[str]
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """The engine's margins, the reference's where they are ties; and which are."""
    tokenizer = PromptTokenizer(folder / "tokenizer.json", artifact.prompt)
    ids = tokenizer.encode_query(query)
    engine, reference = (
        np.array([scorer.margin(ids, tokenizer.encode_item(item)) for item in items], np.float32)
        for scorer in (FakeEngine("engine"), FakeEngine("reference", shift=NUDGE))
    )
    is_tie = np.abs(engine) <= TIE_EPS
    return np.where(is_tie, reference, engine), is_tie


def test_the_champion_is_served_until_it_is_told_to_end(
    settings: Settings, artifact: LabelerArtifact, tmp_path: Path
) -> None:
    settings.home.mkdir()
    register(settings, tmp_path / "artifact", alias="champion")
    with _semlabel(settings.home, "serve", SEMLABEL_SERVE_PORT="0", SEMLABEL_SERVE_METRICS_PORT="0") as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["artifact_id"] == artifact.artifact_id
        with ScoringClient(said["address"], artifact_id=artifact.artifact_id) as client:
            query = artifact.prompt.render_query("nurse")
            items = [artifact.prompt.render_item(f"skill {number}") for number in range(30)]
            found = client.score(query, items)
        margins, is_tie = _expected(artifact, tmp_path / "artifact", query, items)
        assert 0 < is_tie.sum() < 30
        assert np.array_equal(found.is_reference, is_tie)
        assert np.array_equal(found.margins, margins)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_version_that_becomes_the_champion_is_served_without_a_restart_by_hand(
    settings: Settings, artifact: LabelerArtifact, tmp_path: Path
) -> None:
    settings.home.mkdir()
    register(settings, tmp_path / "artifact", alias="champion")
    places = {"SEMLABEL_SERVE_PORT": "0", "SEMLABEL_SERVE_METRICS_PORT": "0", "SEMLABEL_SERVE_LOOK_EVERY_S": "0.1"}
    with _semlabel(settings.home, "serve", **places) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["artifact_id"] == artifact.artifact_id
        another = write_artifact(tmp_path / "another", tie_eps=TIE_EPS * 2)
        register(settings, tmp_path / "another", alias="champion")
        said = json.loads(process.stdout.readline())
        assert said["artifact_id"] == another.artifact_id != artifact.artifact_id
        with ScoringClient(said["address"], artifact_id=another.artifact_id) as client:
            found = client.score(another.prompt.render_query("nurse"), [another.prompt.render_item("a skill")])
        assert len(found.scores) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_only_another_version_that_can_be_served_takes_the_place_of_the_one_before(
    settings: Settings, artifact: LabelerArtifact, tmp_path: Path
) -> None:
    settings.home.mkdir()
    assert _other_champion(settings, "1") is None, "nobody is the champion"
    register(settings, tmp_path / "artifact", alias="champion")
    assert _other_champion(settings, "1") is None
    write_artifact(tmp_path / "another", tie_eps=TIE_EPS * 2)
    version, another = register(settings, tmp_path / "another", alias="champion")
    found = _other_champion(settings, "1")
    assert found is not None and (found.version, found.artifact) == (version, another)
    assert _other_champion(settings.model_copy(update={"engine": "sglang"}), "1") is None


def test_a_setting_that_is_not_safe_is_said_before_anything_starts(tmp_path: Path) -> None:
    with _semlabel(tmp_path, "serve", SEMLABEL_SERVE_HOST="0.0.0.0") as process:
        _, told = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "needs token_file, tls_certificate and tls_key" in told


def test_every_setting_of_the_server_is_one_of_the_deployment_with_the_same_default(settings: Settings) -> None:
    assert server_settings(settings) == ServerSettings()


def test_the_tie_rule_is_on_unless_it_is_turned_off(
    settings: Settings, artifact: LabelerArtifact, tmp_path: Path
) -> None:
    pinned = PinnedLabeler(name="labeler", version="1", folder=tmp_path / "artifact", artifact=artifact)
    spec = spec_of(settings, pinned)
    assert spec.tie_eps == TIE_EPS
    assert spec_of(settings.model_copy(update={"serve_tie_rule": False}), pinned) == replace(spec, tie_eps=0.0)
