from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.labeler_registry import register
from jobs.settings import Settings
from jobs.spark_session import spark_session
from tests.tiny_labeler import write_tiny_labeler
from tests.world import World, settings_under


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(settings_under(tmp_path_factory.mktemp("spark")), "tests") as session:
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


@pytest.fixture
def world(spark: SparkSession, registry: Settings, tmp_path: Path) -> World:
    settings = settings_under(tmp_path, mlflow_uri=registry.tracking_uri, candidates_per_member=8)
    return World(spark, settings)
