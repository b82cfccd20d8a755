"""One server a module, on an engine that the test steers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray.fake_engines import Steering
from tests.ray.round_tables import write_artifact
from tests.serving.running import Running, running_server
from tests.serving.steered_engine import ENGINE

MAX_REQUESTS, MAX_ITEMS, MAX_BATCH_TOKENS = 6, 100, 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an artifact with a real tokenizer and no model is."""
    return tmp_path_factory.mktemp("served") / "artifact"


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Running]:
    with running_server(
        write_artifact(folder),
        folder,
        engine=ENGINE,
        max_requests=MAX_REQUESTS,
        max_items=MAX_ITEMS,
        max_batch_tokens=MAX_BATCH_TOKENS,
        stream_idle_s=20.0,
    ) as running:
        yield running


@pytest.fixture
def steering(running: Running, folder: Path) -> Iterator[Steering]:
    """What the engine is told, and what it noted since; no order outlives its test."""
    steering = Steering(folder)
    (steering.folder / "forwards").unlink(missing_ok=True)
    yield steering
    for order in ("wait", "fail", "break", "die", "leak", "lose"):
        steering.recall(order)
