"""Rounds against a walk over the candidates, one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError
from mis_scoring.core.rounds import RoundRule

RULES = st.builds(RoundRule, candidates_per_round=st.integers(1, 9), stop_below=st.sampled_from([0.0, 0.1, 0.5, 1.0]))


@given(rule=RULES, n_candidates=st.integers(0, 60))
def test_rounds_are_consecutive_and_full_but_for_the_last(rule: RoundRule, n_candidates: int) -> None:
    rounds = [rule.round_of(rank) for rank in range(n_candidates)]
    assert rounds == sorted(rounds)
    sizes = [rounds.count(number) for number in sorted(set(rounds))]
    assert len(sizes) == rule.n_rounds(n_candidates)
    assert all(size == rule.candidates_per_round for size in sizes[:-1])


@given(rule=RULES, decisions=st.lists(st.sampled_from(["accepted", "rejected", "retired"]), min_size=1, max_size=40))
def test_a_member_walks_its_rounds_until_one_accepts_too_little(rule: RoundRule, decisions: list[str]) -> None:
    walked, number = [], 0
    n_rounds = rule.n_rounds(len(decisions))
    while True:
        own = [d for rank, d in enumerate(decisions) if rule.round_of(rank) == number]
        judged = sum(d != "retired" for d in own)
        reason = rule.outcome(
            judged=judged, accepted=own.count("accepted"), missing=0, is_last_round=number == n_rounds - 1
        )
        walked += own
        if reason != "goes_on":
            break
        number += 1
    expected = brute_force_walk(rule, decisions)
    assert (len(walked), reason) == expected


def brute_force_walk(rule: RoundRule, decisions: list[str]) -> tuple[int, str]:
    """Return how many candidates are looked at and why the walk ends, candidate by candidate."""
    judged = accepted = 0
    for place, decision in enumerate(decisions, start=1):
        judged += decision != "retired"
        accepted += decision == "accepted"
        is_last = place == len(decisions)
        if place % rule.candidates_per_round == 0 or is_last:
            if judged and accepted < rule.stop_below * judged - 1e-12:
                return place, "accepted_too_little"
            if is_last:
                return place, "candidates_exhausted"
            judged = accepted = 0
    raise AssertionError("every walk ends")


@pytest.mark.parametrize("is_last_round", [False, True])
def test_a_round_with_missing_scores_neither_stops_nor_advances(is_last_round: bool) -> None:
    rule = RoundRule(candidates_per_round=50, stop_below=0.1)
    assert rule.outcome(judged=49, accepted=0, missing=1, is_last_round=is_last_round) == "incomplete"


def test_a_round_of_retired_candidates_stops_nobody() -> None:
    rule = RoundRule(candidates_per_round=50, stop_below=1.0)
    assert rule.outcome(judged=0, accepted=0, missing=0, is_last_round=False) == "goes_on"


def test_the_fraction_itself_goes_on() -> None:
    rule = RoundRule(candidates_per_round=50, stop_below=0.1)
    assert rule.outcome(judged=50, accepted=5, missing=0, is_last_round=False) == "goes_on"
    assert rule.outcome(judged=50, accepted=4, missing=0, is_last_round=False) == "accepted_too_little"


@pytest.mark.parametrize(("candidates_per_round", "stop_below"), [(0, 0.1), (-1, 0.1), (50, -0.1), (50, 1.1)])
def test_a_rule_without_sense_is_refused(candidates_per_round: int, stop_below: float) -> None:
    with pytest.raises(DataError):
        RoundRule(candidates_per_round=candidates_per_round, stop_below=stop_below)
