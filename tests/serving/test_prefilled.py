"""Queries that are kept for their items: bounded; and the canary of what a server does with them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.engine import QueryItems
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import CanaryError
from mis_scoring.engines.pair_scores import PairScorer
from mis_scoring.serving.canary_watch import CanaryWatch
from mis_scoring.serving.prefilled import PrefilledQueries
from tests.ray.fake_engines import FakeEngine

QUERY, ITEMS = [1, 2, 3], [[4], [5]]


class Many(FakeEngine):
    """Computes several queries in a pass, each on its own."""

    def __init__(self) -> None:
        super().__init__("many")
        self.is_broken = False

    def label_logits_of_many(self, requests: Sequence[QueryItems], label_tokens: LabelTokens) -> list[FloatArray]:
        return [self._of(number, requests, label_tokens) for number in range(len(requests))]

    def _of(self, number: int, requests: Sequence[QueryItems], label_tokens: LabelTokens) -> FloatArray:
        one = requests[number]
        if one.query_keys is not None and not one.query_keys:
            one.query_keys[0] = one.query
        if not one.items:
            return self.label_logits(one.query, [[0]], label_tokens)[:0]
        return self.label_logits(self.query_of(number, requests), one.items, label_tokens)

    def query_of(self, number: int, requests: Sequence[QueryItems]) -> TokenIds:
        return requests[number].query


class ReadsItsNeighboursQuery(Many):
    def query_of(self, number: int, requests: Sequence[QueryItems]) -> TokenIds:
        return requests[0].query if self.is_broken else requests[number].query


class LosesPartOfAPrefilledQuery(Many):
    def query_of(self, number: int, requests: Sequence[QueryItems]) -> TokenIds:
        kept = requests[number].query_keys
        return kept[0][1:] if kept and self.is_broken else requests[number].query


def watch_of(engine: FakeEngine, *, every: int) -> CanaryWatch:
    scorer = PairScorer(
        engine=engine,
        reference=FakeEngine("reference"),
        label_tokens=LabelTokens(yes=1, no=2),
        threshold=0.5,
        tie_eps=0.0,
    )
    return CanaryWatch(scorer, item_suffix=[9], every=every)


@pytest.mark.parametrize("wrong", [ReadsItsNeighboursQuery, LosesPartOfAPrefilledQuery])
def test_the_canary_sees_what_only_company_or_a_prefill_breaks(wrong: type[Many]) -> None:
    engine = wrong()
    watch = watch_of(engine, every=3)
    watch.check()
    engine.is_broken = True
    watch.count_forward()
    watch.count_forward()
    with pytest.raises(CanaryError, match="against single"):
        watch.count_forward()
    with pytest.raises(CanaryError):
        watch.require_passed()


def test_a_sound_engine_passes_and_one_that_failed_a_forward_is_checked_after_the_next() -> None:
    engine = ReadsItsNeighboursQuery()
    watch = watch_of(engine, every=1000)
    for _ in range(5):
        watch.count_forward()
    engine.is_broken = True
    watch.make_due()
    with pytest.raises(CanaryError):
        watch.count_forward()


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 4))
def test_the_streams_used_last_are_kept_and_no_more(streams: list[int], at_most: int) -> None:
    prefilled = PrefilledQueries(at_most)
    for stream in streams:
        request = prefilled.request(QUERY, ITEMS, str(stream))
        assert request.query_keys is not None
        request.query_keys[0] = stream
    last = list(dict.fromkeys(reversed(streams)))[:at_most]
    assert len(prefilled) == len(last)
    for stream in last[::-1]:
        assert prefilled.request(QUERY, ITEMS, str(stream)).query_keys == {0: stream}


def test_a_request_of_no_stream_keeps_nothing() -> None:
    assert PrefilledQueries(3).request(QUERY, ITEMS, None).query_keys is None


def test_a_stream_that_ended_is_forgotten() -> None:
    prefilled = PrefilledQueries(3)
    prefilled.request(QUERY, ITEMS, "a")
    prefilled.release(["a", "never seen"])
    assert len(prefilled) == 0
