"""A model server as the scorer: a request that it refuses is its member's affair, all else makes the batch wait."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jobs.updates.make_scorer import make_scorer
from jobs.updates.scorer import OtherArtifactError, PairRequest
from jobs.updates.served_scorer import ServedScorer
from mis_scoring.core.errors import DataError, EngineError
from tests.published_run import make_tables
from tests.published_run import pins as pins_of_tables
from tests.ray.round_tables import write_artifact
from tests.serving.running import running_server, until
from tests.serving.steered_engine import ENGINE
from tests.world import settings_under

REQUESTS = [PairRequest(query_text=f"query {number}", item_texts=("a", "bb", "ccc")) for number in range(40)]


class Refused(DataError):
    def __init__(self, status: str) -> None:
        self.status = status
        super().__init__(f"refused ({status})")


class Client:
    """Answers with the lengths of the items, or as the test says; notes its calls."""

    def __init__(self, answer: Callable[[str], Any] = lambda _: None, *, max_requests: int = 256) -> None:
        self.answer, self.max_requests = answer, max_requests
        self.asked, self.opened, self.ended = list[str](), list[str](), list[str]()
        self.streams_end_after = 10**6

    def describe(self) -> Any:
        if self.max_requests == 0:
            raise EngineError("away")
        return SimpleNamespace(max_requests=self.max_requests)

    @contextmanager
    def open_query(self, query: str) -> Iterator[Any]:
        self.opened.append(query)
        left = self.streams_end_after

        def score(items: Sequence[str]) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise EngineError("the stream is over")
            return self._found(query, items)

        yield SimpleNamespace(score=score)
        self.ended.append(query)

    def close(self) -> None:
        pass

    def score(self, query: str, items: Sequence[str]) -> Any:
        self.asked.append(query)
        return self._found(query, items)

    def _found(self, query: str, items: Sequence[str]) -> Any:
        return self.answer(query) or SimpleNamespace(
            margins=np.array([len(item) + 0.5 for item in items], np.float32),
            is_reference=np.array([True, False, False]),
            engine=f'{{"asked":"{query}"}}',
            scorer_id="s",
            tokens=9,
            tie_tokens=2,
        )


def test_many_requests_at_once_are_answered_in_their_order() -> None:
    found = ServedScorer(Client(), scorer_id="s").score(REQUESTS)
    assert [one.engine for one in found] == [f'{{"asked":"query {number}"}}' for number in range(40)]
    assert {(one.margins, one.is_reference, one.n_tokens, one.tie_tokens) for one in found} == {
        ((1.5, 2.5, 3.5), (True, False, False), 9, 2)
    }


def test_queries_go_ahead_and_their_rounds_share_a_stream_each() -> None:
    client = Client()
    scorer = ServedScorer(client, scorer_id="s")
    few = [REQUESTS[0], REQUESTS[1], REQUESTS[1]]  # two members with one profile
    with scorer.asking([one.query_text for one in few]):
        assert client.opened == ["query 0", "query 1"] and client.asked == []
        first, second = scorer.score(few[:2]), scorer.score(few[:2])
        assert client.asked == [] and first == second == ServedScorer(Client(), scorer_id="s").score(few[:2])
        assert scorer.score(few) == [first[0], first[1], first[1]]
        assert set(client.asked) <= {"query 1"}, "no stream is asked twice at a time"
    assert client.ended == ["query 1", "query 0"]
    scorer.score(few[:1])
    assert client.asked[-1] == "query 0"


def test_a_stream_that_ended_costs_an_answer_in_one_part_and_nothing_else() -> None:
    client = Client()
    client.streams_end_after = 1
    scorer = ServedScorer(client, scorer_id="s")
    with scorer.asking(["query 0"]):
        found = [scorer.score(REQUESTS[:1]) for _ in range(3)]
    assert found[0] == found[1] == found[2] and client.asked == ["query 0"] * 2


@pytest.mark.parametrize(("max_requests", "n_streams"), [(256, 16), (6, 3), (1, 0), (0, 0)])
def test_streams_leave_room_for_requests_in_one_part(max_requests: int, n_streams: int) -> None:
    client = Client(max_requests=max_requests)
    with ServedScorer(client, scorer_id="s").asking([one.query_text for one in REQUESTS]):
        assert len(client.opened) == n_streams


def refuse(status: str) -> Callable[[str], Any]:
    def answer(query: str) -> None:
        if query == "query 3":
            raise Refused(status)

    return answer


def test_a_request_that_is_refused_for_what_it_holds_is_that_members_alone() -> None:
    found = ServedScorer(Client(refuse("INVALID_ARGUMENT")), scorer_id="s").score(REQUESTS)
    assert [number for number, one in enumerate(found) if one.error] == [3]
    assert found[3].margins == (None, None, None) and "INVALID_ARGUMENT" in str(found[3].error)


@pytest.mark.parametrize("status", ["FAILED_PRECONDITION", "UNAUTHENTICATED"])
def test_another_artifact_or_no_token_quarantines_nobody_and_makes_the_batch_wait(status: str) -> None:
    with pytest.raises(EngineError, match=f"{status}.*the batch waits") as raised:
        ServedScorer(Client(refuse(status)), scorer_id="s").score(REQUESTS)
    assert isinstance(raised.value, OtherArtifactError) == (status == "FAILED_PRECONDITION")


@pytest.mark.parametrize(
    ("change", "said"), [({"scorer_id": "t"}, "as scorer t"), ({"margins": [1.0]}, "1 scores for 3")]
)
def test_an_answer_of_another_scorer_or_of_another_length_is_never_taken(change: dict[str, Any], said: str) -> None:
    def answer(_: str) -> Any:
        return SimpleNamespace(**vars(Client().score("q", ("a", "b", "c"))) | change)

    with pytest.raises(EngineError, match=said):
        ServedScorer(Client(answer), scorer_id="s").score(REQUESTS[:1])


def test_a_real_server_answers_as_the_engine_in_the_process_does_and_for_its_artifact_alone(tmp_path: Path) -> None:
    artifact = write_artifact(tmp_path / "artifact")
    requests = [
        PairRequest(
            query_text=artifact.prompt.render_query(text),
            item_texts=tuple(map(artifact.prompt.render_item, ("Python", "licence C", "nursing"))),
        )
        for text in ("a nurse", "a driver", "long " * 300)
    ]
    halves = requests[0].item_texts[:1], requests[0].item_texts[1:]
    make_tables(tmp_path / "tables")
    pins = replace(
        pins_of_tables(tmp_path / "tables", "run"),
        engine=ENGINE,
        artifact_folder=str(tmp_path / "artifact"),
        artifact_id=artifact.artifact_id,
        scorer_id=artifact.scorer_id,
    )
    with running_server(artifact, tmp_path / "artifact", engine=ENGINE) as server:
        settings = settings_under(tmp_path, updates_scorer=server.address)
        served, here = make_scorer(settings, pins, artifact), make_scorer(settings_under(tmp_path), pins, artifact)
        answers, expected = served.score(requests), here.score(requests)
        assert [one.margins for one in answers] == [one.margins for one in expected]
        with served.asking([one.query_text for one in requests]):
            rounds = [served.score([replace(one, item_texts=part) for one in requests[:2]]) for part in halves]
        together = zip(rounds[0], rounds[1], strict=True)
        assert [one.margins + two.margins for one, two in together] == [one.margins for one in expected[:2]]
        assert sum(one.n_tokens for one in rounds[0]) > sum(one.n_tokens for one in rounds[1]) > 0, "prefilled once"
        until(lambda: server.figure("prefilled_queries") == 0)
        assert [one.error is None for one in answers] == [one.error is None for one in expected] == [True, True, False]
        with pytest.raises(OtherArtifactError, match="the batch waits"):
            make_scorer(settings, replace(pins, artifact_id="another"), artifact).score(requests)
    with pytest.raises(EngineError):
        served.score(requests)
