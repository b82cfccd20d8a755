"""What goes wrong inside: whoever asks is told why, and the server comes back by itself; wrong scores never leave."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from mis_scoring.core.errors import EngineError
from mis_scoring.serving import scoring_pb2 as pb
from mis_scoring.serving.answers import NotAnsweredError, RefusedError
from mis_scoring.serving.health import main as health_probe
from mis_scoring.serving.scoring_pb2_grpc import ScoringStub
from mis_scoring.serving.server import SERVICE
from tests.ray.fake_engines import Steering
from tests.ray.round_tables import write_artifact
from tests.serving.running import NOT_SERVING, SERVING, Running, running_server, until
from tests.serving.steered_engine import ENGINE, N_LOST

SECRET = "Zanzibarian"
N_PARTS = 40


@contextmanager
def watched_health(running: Running) -> Iterator[Iterator[int]]:
    """Yield the health of the service whenever it changes."""
    with grpc.insecure_channel(running.address) as channel:
        call = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=SERVICE), timeout=30)
        yield (answer.status for answer in call)
        call.cancel()


def not_answered(running: Running) -> str:
    with pytest.raises(NotAnsweredError) as caught:
        running.client.score(running.query(SECRET), running.items("a"))
    assert caught.value.status == "UNAVAILABLE"
    assert SECRET not in str(caught.value)
    return str(caught.value)


def n_scored(running: Running) -> int:
    return len(running.client.score(running.query(), running.items("a", "b")).scores)


@pytest.mark.parametrize("order", ["die", "break"])
def test_an_engine_that_dies_is_started_again_and_its_requests_are_told(
    running: Running, steering: Steering, order: str
) -> None:
    n_starts = running.figure("engine_starts_total")
    with watched_health(running) as health:
        assert next(health) == SERVING
        steering.order(order, after_requests=0)
        assert "engine" in not_answered(running)
        assert next(health) == NOT_SERVING
        assert next(health) == SERVING
    assert n_scored(running) == 2
    assert running.figure("engine_starts_total") == n_starts + 1


def test_all_who_wait_for_an_engine_that_dies_are_told_and_the_rest_of_a_burst_is_answered(
    running: Running, steering: Steering
) -> None:
    steering.order("wait", after_requests=0)
    with ThreadPoolExecutor(4) as threads:
        under_way = [threads.submit(not_answered, running) for _ in range(4)]
        until(lambda: running.figure("under_way_requests") == 4 and steering.noted("forwards"))
        os.kill(running.server.engine.pid or 0, signal.SIGKILL)
        for told in under_way:
            assert "started again by itself" in told.result() or "ended" in told.result()
    steering.recall("wait")
    until(lambda: running.health() == SERVING)
    assert n_scored(running) == 2


def test_an_engine_that_fails_once_is_kept_and_says_why(running: Running, steering: Steering) -> None:
    n_starts = running.figure("engine_starts_total")
    steering.order("fail", after_requests=0)
    assert "the device fell off the bus" in not_answered(running)
    assert n_scored(running) == 2
    assert running.figure("engine_starts_total") == n_starts


def test_a_request_whose_score_is_missing_fails_alone(running: Running, steering: Steering) -> None:
    for order in ("wait", "lose"):
        steering.order(order, after_requests=0)
    with ThreadPoolExecutor(3) as threads:
        answers = [threads.submit(n_scored, running)]
        until(lambda: steering.noted("forwards"))
        lost = threads.submit(running.client.score, running.query(), running.items("a") * N_LOST)
        answers.append(threads.submit(n_scored, running))
        until(lambda: running.figure("queue_requests") == 2)
        steering.recall("wait")
        assert [answer.result() for answer in answers] == [2, 2]
        with pytest.raises(RefusedError, match=r"no finite logits in item rows \[0, 1, 2, 3, 4\]"):
            lost.result()


def test_a_tokenizer_that_dies_is_started_again(running: Running) -> None:
    (pid,) = running.server.tokenizers.pids
    with watched_health(running) as health:
        assert next(health) == SERVING
        os.kill(pid, signal.SIGKILL)
        assert next(health) == NOT_SERVING
        assert next(health) == SERVING
    assert n_scored(running) == 2


def test_an_engine_that_hangs_is_ended_and_started_again(tmp_path: Path) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    steering = Steering(folder)
    with running_server(artifact, folder, engine=ENGINE, forward_timeout_s=0.5) as running:
        steering.order("wait", after_requests=0)
        assert "did not answer in 0.5 s" in not_answered(running)
        steering.recall("wait")
        until(lambda: running.health() == SERVING)
        assert n_scored(running) == 2


def test_a_stream_whose_items_do_not_come_is_ended(tmp_path: Path) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    with (
        running_server(artifact, folder, engine=ENGINE, stream_idle_s=0.2) as running,
        pytest.raises(NotAnsweredError) as caught,
        running.client.open_query(running.query()) as stream,
    ):
        until(lambda: running.figure("refused_total", reason="idle"))
        stream.score(running.items("late"))
    assert caught.value.status == "DEADLINE_EXCEEDED"
    assert "no items within 0.2 s" in str(caught.value)


def test_a_stream_whose_answers_are_not_read_keeps_no_place(tmp_path: Path) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    n_items = 20_000  # an answer of them is larger than what a connection takes unread
    is_over = Event()
    with (
        running_server(
            artifact, folder, engine=ENGINE, max_items=n_items, max_requests=1, stream_idle_s=0.5
        ) as running,
        grpc.insecure_channel(running.address) as channel,
    ):
        items = pb.Items(items=running.items("a") * n_items)

        def parts() -> Iterator[pb.ScorePart]:
            yield pb.ScorePart(query=pb.Query(artifact_id=artifact.artifact_id, query=running.query()))
            for _ in range(N_PARTS):
                yield pb.ScorePart(items=items)
            is_over.wait(60)

        call = ScoringStub(channel).ScoreStream(parts())
        until(lambda: running.figure("refused_total", reason="idle"))
        assert running.figure("labels_total") < N_PARTS * n_items, "it is not for want of items"
        assert running.figure("under_way_requests") == 0
        assert n_scored(running) == 2, "its place is another's"
        is_over.set()
        call.cancel()


@pytest.mark.parametrize("due", ["every so many forwards", "after a forward that failed"])
def test_a_failing_canary_ends_the_answering_for_good(tmp_path: Path, due: str) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    is_periodic = due == "every so many forwards"
    with running_server(artifact, folder, engine=ENGINE, canary_every=2 if is_periodic else 1000) as running:
        assert n_scored(running) == 2
        if not is_periodic:
            Steering(folder).order("fail", after_requests=0)
            assert "fell off the bus" in not_answered(running)
        Steering(folder).order("leak", after_requests=0)
        assert "the canary of engine 'steered' failed" in not_answered(running)
        Steering(folder).recall("leak")
        assert "against single" in not_answered(running)
        assert running.health() == NOT_SERVING
        assert health_probe([running.address]) == 1
        assert running.figure("canary_failures_total") == 1
        assert running.figure("labels_total") == 2


def test_an_engine_that_is_wrong_from_the_start_is_never_served(tmp_path: Path) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    Steering(folder).order("leak", after_requests=0)
    with (
        pytest.raises(EngineError, match="the canary of engine 'steered' failed"),
        running_server(artifact, folder, engine=ENGINE),
    ):
        raise AssertionError("it serves")
