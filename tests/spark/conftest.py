import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.labeler.registry import register
from jobs.settings import Settings
from jobs.spark_session import spark_session
from mis_scoring.core.artifact import LabelerArtifact
from tests.tiny_labeler import write_tiny_labeler
from tests.world import World, settings_under

CATALOG_TEXTS: dict[str, str | None] = {
    "q-nursing": "nursing of patients in intensive care",
    "q-welding": "welding of steel pipes",
    "q-teaching": "teaching of mathematics",
    "q-baking": "baking of bread",
    "q-driving": "driving of heavy lorries",
    "q-painting": "painting of walls",
    "q-singing": "singing in a choir",
    "q-coding": "coding in Python",
    "q-planning": "planning of projects",
    "q-selling": "selling of houses",
}
PROFILE_TEXTS: dict[str, str | None] = {
    "ann": "I worked in nursing, baking and teaching for years, mostly in Zanzibar.",
    "bob": "Experienced in welding and painting.",
    "cat": "I enjoy long walks.",
    "dan": "On Sundays: singing.",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = settings_under(tmp_path_factory.mktemp("spark"), spark_master="local[1]", spark_partitions=1)
    with spark_session(settings, "tests") as session:
        yield session


@pytest.fixture(scope="session")
def labeler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny labeler's folder: rounds of 4, a member stops under a quarter."""
    folder = tmp_path_factory.mktemp("labeler") / "tiny"
    write_tiny_labeler(folder, candidates_per_round=4, stop_below=0.25)
    return folder


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory, labeler: Path) -> Settings:
    """Settings of an MLflow that has the tiny labeler as champion."""
    settings = settings_under(tmp_path_factory.mktemp("mlflow"))
    register(settings, labeler, alias=settings.labeler_alias)
    return settings


def register_variant(registry: Settings, labeler: Path, folder: Path, alias: str, **changes: Any) -> str:
    """Register the labeler with another threshold or round rule, from a new folder; returns the alias."""
    shutil.copytree(labeler, folder)
    LabelerArtifact.load(labeler).with_changes(**changes).save(folder)
    register(registry, folder, alias=alias)
    return alias


@pytest.fixture
def world(spark: SparkSession, registry: Settings, tmp_path: Path) -> World:
    """Empty tables of the test's own."""
    return World(spark, settings_under(tmp_path, mlflow_uri=registry.tracking_uri, candidates_per_member=8))


@pytest.fixture(scope="session")
def _prepared(spark: SparkSession, registry: Settings, tmp_path_factory: pytest.TempPathFactory) -> World:
    home = tmp_path_factory.mktemp("prepared")
    world = World(spark, settings_under(home, mlflow_uri=registry.tracking_uri, candidates_per_member=8))
    world.put_profiles(PROFILE_TEXTS)
    world.put_catalog(CATALOG_TEXTS)
    world.result = {"run_id": world.prepare("first")}
    return world


@pytest.fixture(scope="session")
def _published(_prepared: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    world = _prepared.copy(tmp_path_factory.mktemp("published"))
    world.result |= world.publish(world.result["run_id"])
    return world


@pytest.fixture
def prepared(_prepared: World, tmp_path: Path) -> World:
    """A world of the test's own after a first run that waits for its publication; the run's id is in its `result`."""
    return _prepared.copy(tmp_path)


@pytest.fixture
def published(_published: World, tmp_path: Path) -> World:
    """The same, published."""
    return _published.copy(tmp_path)
