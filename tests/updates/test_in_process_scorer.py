"""An engine in the service's own process: the margins of the batch path, ties by the reference, watched by a canary."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.pins import Pins
from jobs.updates.in_process_scorer import InProcessScorer
from jobs.updates.scorer import PairRequest
from mis_scoring.core.errors import EngineError
from mis_scoring.core.prompt import COMPACT
from mis_scoring.engines.canary import CanaryError
from tests.published_run import make_tables
from tests.published_run import pins as pins_of_tables
from tests.ray import fake_engines
from tests.ray.fake_engines import FakeEngine, LeakyEngine, Steering
from tests.ray.round_tables import write_artifact
from tests.world import settings_under

REQUEST = PairRequest(
    query_text=COMPACT.render_query("a nurse"), item_texts=tuple(map(COMPACT.render_item, ("Python", "licence C")))
)


def scorer(folder: Path, engine: str, *, tie_eps: float = 0.0) -> InProcessScorer:
    artifact = write_artifact(folder / "artifact", tie_eps=tie_eps)
    make_tables(folder / "tables")
    pins = pins_of_tables(folder / "tables", "run")
    pinned: Pins = replace(pins, engine=f"tests.ray.fake_engines:{engine}", artifact_folder=str(folder / "artifact"))
    return InProcessScorer(settings_under(folder), pinned, artifact)


def test_answers_are_aligned_and_a_request_that_cannot_be_scored_is_an_answer_too(tmp_path: Path) -> None:
    found = scorer(tmp_path, "plain")
    too_long = replace(REQUEST, query_text=COMPACT.render_query("long " * 300))
    answer, failed, again = found.score([REQUEST, too_long, REQUEST])
    assert answer == again and len(answer.margins) == 2 and answer.error is None
    assert answer.engine == '{"device":"none","engine":"fake"}' and answer.n_tokens > 0
    assert failed.margins == (None, None) and "longer than" in str(failed.error)


def test_ties_are_decided_by_the_reference(tmp_path: Path) -> None:
    (answer,) = scorer(tmp_path, "nudged_reference", tie_eps=100.0).score([REQUEST])
    plain = FakeEngine("reference")
    assert answer.is_reference == (True, True) and answer.tie_tokens > 0
    assert {round(margin % 0.125, 6) for margin in answer.margins if margin is not None} == {0.00003}, plain.name


def test_an_engine_that_is_wrong_is_never_asked_and_one_that_turns_wrong_gives_nothing(tmp_path: Path) -> None:
    with pytest.raises(CanaryError):
        scorer(tmp_path / "leaky", "leaky")
    steered = scorer(tmp_path / "steered", "steered")
    Steering(tmp_path / "steered" / "artifact").order("leak", after_requests=0)
    with pytest.raises(CanaryError):
        steered.score([REQUEST])


class Closing(FakeEngine):
    closed = 0

    def close(self) -> None:
        Closing.closed += 1


class LeakyClosing(LeakyEngine, Closing):
    pass


def closing(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return Closing("fake"), FakeEngine("reference")


def leaky_closing(folder: Path, *, threads: int) -> tuple[FakeEngine, FakeEngine]:
    return LeakyClosing("fake"), FakeEngine("reference")


def test_an_engine_with_something_to_end_is_closed_also_where_its_canary_fails_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engines, "closing", closing, raising=False)
    monkeypatch.setattr(fake_engines, "leaky_closing", leaky_closing, raising=False)
    scorer(tmp_path / "one", "closing").close()
    assert Closing.closed == 1
    with pytest.raises(CanaryError):
        scorer(tmp_path / "two", "leaky_closing")
    assert Closing.closed == 2


def test_an_engine_that_fails_is_an_error_of_the_whole_call(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="fell off the bus"):
        scorer(tmp_path, "dying").score([REQUEST])
