"""The server as a process: how it says where it is, how it ends, and what it leaves."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.serving.answers import NotAnsweredError
from mis_scoring.serving.client import ScoringClient
from tests.ray.fake_engines import Steering
from tests.ray.round_tables import write_artifact
from tests.serving.running import NOT_SERVING, until
from tests.serving.steered_engine import ENGINE

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def served(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start `python -m mis_scoring.serving`; yield it with its address."""
    command = [sys.executable, "-m", "mis_scoring.serving", str(folder), "--engine", ENGINE]
    command += ["--port", "0", "--metrics-port", "0", "--drain-s", "20"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["address"]
        finally:
            process.kill()


@pytest.fixture
def artifact(tmp_path: Path) -> LabelerArtifact:
    return write_artifact(tmp_path / "artifact")


def test_a_server_that_is_told_to_end_answers_what_is_under_way_and_takes_nothing_new(
    artifact: LabelerArtifact, tmp_path: Path
) -> None:
    steering = Steering(tmp_path / "artifact")
    query, items = artifact.prompt.render_query("nurse"), [artifact.prompt.render_item("Python")]
    with (
        served(tmp_path / "artifact") as (process, address),
        ScoringClient(address, artifact_id=artifact.artifact_id) as client,
        grpc.insecure_channel(address) as channel,
        ThreadPoolExecutor(1) as threads,
    ):
        health = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        next(health)
        steering.order("wait", after_requests=0)
        under_way = threads.submit(client.score, query, items)
        until(lambda: steering.noted("forwards"))
        process.send_signal(signal.SIGTERM)
        assert next(health).status == NOT_SERVING
        with pytest.raises(NotAnsweredError, match="the server is ending"):
            client.score(query, items)
        steering.recall("wait")
        assert len(under_way.result().scores) == 1
        assert process.wait(20) == 0


def test_a_server_that_is_killed_leaves_no_process(artifact: LabelerArtifact, tmp_path: Path) -> None:
    with served(tmp_path / "artifact") as (process, _):
        (pid,) = Steering(tmp_path / "artifact").noted("engines")
        assert Path(f"/proc/{pid}").exists()
        process.kill()
    until(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text())


def test_a_folder_that_is_no_artifact_is_said_and_nothing_is_served(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "mis_scoring.serving", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "labeler.json is missing" in ended.stderr
