"""What a caller can get wrong: one status, every fault named, no text of a profile in it."""

from collections.abc import Iterator

import grpc
import pytest

from mis_scoring.serving import scoring_pb2 as pb
from mis_scoring.serving.answers import NotAnsweredError, RefusedError
from tests.ray.fake_engines import MAX_TOKENS
from tests.serving.conftest import MAX_ITEMS
from tests.serving.running import Running

SECRET = "Zanzibarian "
SCORE, STREAM = "/semlabel.scoring.v1.Scoring/Score", "/semlabel.scoring.v1.Scoring/ScoreStream"


@pytest.fixture
def channel(running: Running) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(running.address) as channel:
        yield channel


def refused(running: Running, query: str, items: list[str]) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        running.client.score(query, items)
    assert SECRET.strip() not in str(caught.value)
    return caught.value


def test_every_fault_of_a_request_is_named_at_once(running: Running) -> None:
    good, long = running.items("Python", SECRET * 200)
    error = refused(running, running.query(SECRET), [good, "", "not rendered", long, *running.items(" ")])
    assert error.status == "INVALID_ARGUMENT"
    for fault in ("item 1 is empty", "item 2: a rendered text", "item 3 makes a prompt of", "item 4 is empty"):
        assert fault in str(error)
    assert "item 0" not in str(error)


@pytest.mark.parametrize("query", ["", "Profile:\n \nQualification:"])
def test_an_empty_query_is_refused(running: Running, query: str) -> None:
    assert "the query is empty" in str(refused(running, query, running.items("Python")))


def test_no_items_are_refused(running: Running) -> None:
    assert "there are no items" in str(refused(running, running.query(), []))


def test_a_query_that_fills_the_context_is_refused_for_itself_alone(running: Running) -> None:
    error = refused(running, running.query(SECRET * 200), running.items("a", "b"))
    assert f"max {MAX_TOKENS} with an item" in str(error)
    assert "item 0 makes" not in str(error)


def test_a_hundred_thousand_items_are_refused_before_any_is_tokenized(running: Running) -> None:
    error = refused(running, "", running.items("a") * 100_000)
    assert f"there are 100000 items, max {MAX_ITEMS}" in str(error)
    assert "the query is empty" in str(error)


def test_a_long_list_of_faults_is_cut_and_counted(running: Running) -> None:
    error = refused(running, running.query(), [""] * MAX_ITEMS)
    assert "item 19 is empty; and 80 more" in str(error)


def test_another_artifact_is_refused_and_both_are_named(running: Running) -> None:
    with running.client_of("f" * 64) as client, pytest.raises(RefusedError) as caught:
        client.score(running.query(), running.items("a"))
    assert caught.value.status == "FAILED_PRECONDITION"
    assert "f" * 64 in str(caught.value)
    assert running.artifact.artifact_id in str(caught.value)


@pytest.mark.parametrize("message", [b"\xff\xff\xff", b"\x12\x02\xff\xfe"], ids=["wire format", "no UTF-8"])
def test_what_is_no_protobuf_is_refused(channel: grpc.Channel, message: bytes) -> None:
    for answer in (
        lambda: channel.unary_unary(SCORE)(message),
        lambda: list(channel.stream_stream(STREAM)(iter([message]))),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            answer()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_message_above_the_limit_is_refused(running: Running) -> None:
    limit = running.client.describe().max_message_bytes
    with pytest.raises(NotAnsweredError) as caught:
        running.client.score(running.query("x" * limit), running.items("a"))
    assert caught.value.status == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [pb.ScorePart()],
        [pb.ScorePart(items=pb.Items(items=["a"]))],
        ["query", "query"],
    ],
    ids=["nothing", "empty part", "items first", "two queries"],
)
def test_a_stream_is_one_query_and_then_items(running: Running, channel: grpc.Channel, parts: list[object]) -> None:
    query = pb.ScorePart(query=pb.Query(artifact_id=running.artifact.artifact_id, query=running.query()))
    sent = [query if part == "query" else part for part in parts]
    with pytest.raises(grpc.RpcError) as caught:
        list(channel.stream_stream(STREAM, pb.ScorePart.SerializeToString)(iter(sent)))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "one query, then" in caught.value.details()


def test_a_streams_faults_are_those_of_a_request(running: Running) -> None:
    with running.client.open_query(running.query()) as stream, pytest.raises(RefusedError) as caught:
        stream.score(["", *running.items(SECRET * 200)])
    assert "item 0 is empty; item 1 makes a prompt of" in str(caught.value)


def test_a_server_goes_on_after_all_that(running: Running) -> None:
    assert len(running.client.score(running.query(), running.items("a", "b")).scores) == 2
    assert running.figure("under_way_requests") == 0
