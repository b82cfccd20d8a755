"""How requests share the engine: batches, the bound, those who leave, and queries that are prefilled."""

import json
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import pytest

from mis_scoring.serving import scoring_pb2 as pb
from mis_scoring.serving.answers import NotAnsweredError
from mis_scoring.serving.client import QueryStream
from mis_scoring.serving.scoring_pb2_grpc import ScoringStub
from tests.ray.fake_engines import FakeEngine, Steering
from tests.ray.round_tables import write_artifact
from tests.serving.conftest import MAX_BATCH_TOKENS, MAX_REQUESTS
from tests.serving.running import Running, running_server, until
from tests.serving.steered_engine import N_TOGETHER


def forwards(steering: Steering) -> list[list[list[int]]]:
    """Of each forward, of each request: query tokens computed, items."""
    return [json.loads(line) for line in steering.noted("forwards")]


def items_of(running: Running, n: int) -> list[str]:
    return running.items(*(f"item {number}" for number in range(n)))


def margins_of(running: Running, text: str, n_items: int) -> list[float]:
    """What the engine gives each pair on its own."""
    tokenizer = running.tokenizer
    query, items = tokenizer.encode_query(running.query(text)), items_of(running, n_items)
    return [FakeEngine("alone").margin(query, tokenizer.encode_item(item)) for item in items]


def ask(running: Running, threads: ThreadPoolExecutor, text: str, n_items: int) -> "Future[list[float]]":
    request = (running.query(text), items_of(running, n_items))
    return threads.submit(lambda: running.client.score(*request).margins.tolist())


def test_requests_that_wait_share_the_next_forward_and_get_their_own_scores(
    running: Running, steering: Steering
) -> None:
    asked = (("first", 1), ("a", 2), ("b", 3))
    steering.order("wait", after_requests=0)
    with ThreadPoolExecutor(3) as threads:
        answers = [ask(running, threads, *asked[0])]
        until(lambda: forwards(steering))
        answers += [ask(running, threads, *one) for one in asked[1:]]
        until(lambda: running.figure("queue_requests") == 2)
        steering.recall("wait")
        assert [answer.result() for answer in answers] == [margins_of(running, *one) for one in asked]
    assert sorted(n for _, n in forwards(steering)[1]) == [2, 3]
    assert len(forwards(steering)) == 2


def test_a_forward_takes_no_more_tokens_than_it_may(running: Running, steering: Steering) -> None:
    text = "x" * (MAX_BATCH_TOKENS // 2)
    steering.order("wait", after_requests=0)
    with ThreadPoolExecutor(4) as threads:
        answers = [ask(running, threads, "first", 1)]
        until(lambda: forwards(steering))
        answers += [ask(running, threads, text, 1) for _ in range(3)]
        until(lambda: running.figure("queue_requests") == 3)
        steering.recall("wait")
        assert [answer.result() for answer in answers[1:]] == [margins_of(running, text, 1)] * 3
    assert [len(forward) for forward in forwards(steering)] == [1, 1, 1, 1]


def test_a_request_above_the_bound_is_refused_at_once_and_the_others_are_answered(
    running: Running, steering: Steering
) -> None:
    steering.order("wait", after_requests=0)
    with ThreadPoolExecutor(MAX_REQUESTS) as threads:
        answers = [ask(running, threads, "nurse", 1) for _ in range(MAX_REQUESTS)]
        until(lambda: running.figure("under_way_requests") == MAX_REQUESTS)
        with pytest.raises(NotAnsweredError) as caught:
            running.client.score(running.query(), items_of(running, 1))
        steering.recall("wait")
        assert [answer.result() for answer in answers] == [margins_of(running, "nurse", 1)] * MAX_REQUESTS
    assert caught.value.status == "RESOURCE_EXHAUSTED"
    assert running.figure("refused_total", reason="full") == 1


@pytest.mark.parametrize("leaves", ["cancels", "has no time left", "disappears"])
def test_a_request_whose_caller_has_gone_leaves_the_queue_unscored(
    running: Running, steering: Steering, leaves: str
) -> None:
    steering.order("wait", after_requests=0)
    request = pb.ScoreRequest(
        artifact_id=running.artifact.artifact_id, query=running.query("gone"), items=items_of(running, 7)
    )
    with ThreadPoolExecutor(1) as threads, grpc.insecure_channel(running.address) as channel:
        stays = ask(running, threads, "stays", 1)
        until(lambda: forwards(steering))
        call = ScoringStub(channel).Score.future(request, timeout=0.3 if leaves == "has no time left" else None)
        until(lambda: running.figure("queue_requests") == 1)
        if leaves == "cancels":
            call.cancel()
        elif leaves == "disappears":
            channel.close()
        until(lambda: running.figure("under_way_requests") == 1)
        assert running.figure("queue_requests") == 0
        steering.recall("wait")
        assert stays.result() == margins_of(running, "stays", 1)
    assert [[n for _, n in forward] for forward in forwards(steering)] == [[1]]


def test_a_stream_computes_its_query_once_for_all_of_its_rounds(running: Running, steering: Steering) -> None:
    n_query = len(running.tokenizer.encode_query(running.query("nurse")))
    with running.client.open_query(running.query("nurse")) as stream:
        until(lambda: forwards(steering))
        found = [stream.score(items_of(running, n)) for n in (3, 2)]
    assert forwards(steering) == [[[n_query, 0]], [[0, 3]], [[0, 2]]]
    assert [answer.margins.tolist() for answer in found] == [margins_of(running, "nurse", n) for n in (3, 2)]
    n_items = [sum(len(running.tokenizer.encode_item(item)) for item in items_of(running, n)) for n in (3, 2)]
    assert [answer.tokens for answer in found] == [n_query + n_items[0], n_items[1]]


def test_items_that_come_before_their_query_was_prefilled_take_it_along(running: Running, steering: Steering) -> None:
    steering.order("wait", after_requests=0)
    n_query = len(running.tokenizer.encode_query(running.query("late")))
    n_before = running.figure("stage_seconds_count", stage="tokenize")
    with ThreadPoolExecutor(2) as threads:
        first = ask(running, threads, "first", 1)
        until(lambda: forwards(steering))
        with running.client.open_query(running.query("late")) as stream:
            until(lambda: running.figure("queue_requests") == 1)
            answer = threads.submit(stream.score, items_of(running, 2))
            until(lambda: running.figure("stage_seconds_count", stage="tokenize") == n_before + 3)
            steering.recall("wait")
            assert answer.result().margins.tolist() == margins_of(running, "late", 2)
        first.result()
    assert forwards(steering)[1:] == [[[n_query, 2]]]


def test_queries_are_forgotten_when_their_streams_end(running: Running, steering: Steering) -> None:
    with running.client.open_query(running.query("one")), running.client.open_query(running.query("two")) as stream:
        until(lambda: running.figure("prefilled_queries") == 2)
        stream.score(items_of(running, 1))
    until(lambda: running.figure("prefilled_queries") == 0)
    with suppress(KeyError), running.client.open_query(running.query("three")):
        until(lambda: running.figure("prefilled_queries") == 1)
        raise KeyError("the caller fails while it looks for items")
    until(lambda: running.figure("prefilled_queries") == 0)


def test_the_figure_of_prefilled_queries_is_the_engines_last_whatever_answer_comes_first(running: Running) -> None:
    for _ in range(20):
        with ExitStack() as streams:
            for number in range(MAX_REQUESTS):
                streams.enter_context(running.client.open_query(running.query(f"member {number}")))
            until(lambda: running.figure("prefilled_queries") == MAX_REQUESTS)
        until(lambda: running.figure("prefilled_queries") == 0)


def test_an_engine_that_takes_several_requests_gets_them_at_once(tmp_path: Path) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    with (
        running_server(artifact, folder, engine="tests.serving.steered_engine:make_concurrent_pair") as running,
        ThreadPoolExecutor(N_TOGETHER) as threads,
    ):
        asked = [(f"member {number}", number + 1) for number in range(N_TOGETHER)]
        answers = [ask(running, threads, *one) for one in asked]
        assert [answer.result() for answer in answers] == [margins_of(running, *one) for one in asked]
        with running.client.open_query(running.query("alone")) as stream:
            assert _n_wait_for_a_query_alone(stream, running, threads) == 1


def _n_wait_for_a_query_alone(stream: QueryStream, running: Running, threads: ThreadPoolExecutor) -> int:
    """A stream's items are one request of several: its query is not prefilled where the engine can't do that."""
    others = [ask(running, threads, "other", 1) for _ in range(N_TOGETHER - 1)]
    found = stream.score(items_of(running, 1))
    assert all(other.result() for other in others)
    return len(found.scores)
