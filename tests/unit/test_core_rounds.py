"""Rounds of consecutive candidates and the rule that stops a member."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError
from mis_scoring.core.rounds import RoundRule

sizes = st.integers(1, 60)
fractions = st.floats(0, 1)
counts = st.integers(0, 50)


def _rule(candidates_per_round: int = 10, stop_below: float = 0.1) -> RoundRule:
    return RoundRule(candidates_per_round=candidates_per_round, stop_below=stop_below)


@given(size=sizes, n_candidates=st.integers(0, 500))
def test_rounds_split_the_ranks_and_join_to_them_again(size: int, n_candidates: int) -> None:
    rule = _rule(size)
    ranks = list(range(n_candidates))
    split = [ranks[start : start + size] for start in range(0, n_candidates, size)]
    assert len(split) == rule.n_rounds(n_candidates)
    assert [[rank for rank in ranks if rule.round_of(rank) == number] for number in range(len(split))] == split


@given(judged=st.integers(1, 50), data=st.data(), stop_below=fractions, is_last_round=st.booleans())
def test_a_member_goes_on_exactly_when_enough_of_the_judged_is_accepted(
    judged: int, data: st.DataObject, stop_below: float, is_last_round: bool
) -> None:
    accepted = data.draw(st.integers(0, judged))
    outcome = _rule(stop_below=stop_below).outcome(
        judged=judged, accepted=accepted, missing=0, is_last_round=is_last_round
    )
    enough = "candidates_exhausted" if is_last_round else "goes_on"
    assert outcome == (enough if accepted / judged >= stop_below else "accepted_too_little")


@given(judged=counts, accepted=counts, missing=st.integers(1, 50), is_last_round=st.booleans())
def test_a_round_with_missing_scores_neither_stops_nor_advances(
    judged: int, accepted: int, missing: int, is_last_round: bool
) -> None:
    outcome = _rule(stop_below=1.0).outcome(
        judged=judged, accepted=accepted, missing=missing, is_last_round=is_last_round
    )
    assert outcome == "incomplete"


def test_a_member_stops_when_its_round_accepts_too_little() -> None:
    rule = _rule(stop_below=0.1)
    assert rule.outcome(judged=50, accepted=4, missing=0, is_last_round=False) == "accepted_too_little"
    assert rule.outcome(judged=50, accepted=5, missing=0, is_last_round=False) == "goes_on"


def test_a_round_of_retired_candidates_stops_nobody() -> None:
    rule = _rule(stop_below=1.0)
    assert rule.outcome(judged=0, accepted=0, missing=0, is_last_round=False) == "goes_on"
    assert rule.outcome(judged=0, accepted=0, missing=0, is_last_round=True) == "candidates_exhausted"


@pytest.mark.parametrize(
    ("candidates_per_round", "stop_below", "named"),
    [(0, 0.1, "candidates_per_round"), (10, -0.1, "stop_below"), (10, 1.1, "stop_below"), (10, float("nan"), "stop")],
)
def test_a_rule_that_means_nothing_is_refused(candidates_per_round: int, stop_below: float, named: str) -> None:
    with pytest.raises(DataError, match=named):
        _rule(candidates_per_round, stop_below)
