"""What a plan says a member takes, against all that could happen, tried out one by one."""

import random
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.rules.forecast import Figure, Forecast, RoundFacts, endings, forecast, goes_on
from jobs.rules.survival import (
    EveryoneGoesOn,
    KnownInPart,
    RoundHistory,
    SurvivalOf,
    beta_binomial,
    newcomer_ratio,
)
from mis_scoring.core.cost import mis_tokens
from mis_scoring.core.rounds import RoundRule

QUERY_TOKENS, ITEM_TOKENS = 7, 3
N = 3


class Pair(NamedTuple):
    """A candidate: what is known of it, and its label.

    is_accepted: None where it has no judgment. label: "none", "same" (an equal row would be published again), "other".
    """

    is_accepted: bool | None
    label: str


PAIRS = st.builds(Pair, st.sampled_from([True, False, None]), st.sampled_from(["none", "none", "same", "other"]))
RULES = st.builds(RoundRule, candidates_per_round=st.just(N), stop_below=st.sampled_from([0.0, 0.2, 0.34, 0.6, 1.0]))


def facts_of(pairs: Sequence[Pair]) -> RoundFacts:
    """Sum a round up, as the columns of `planned_pairs` do."""
    known = [pair for pair in pairs if pair.is_accepted is not None]
    is_open = [pair for pair in pairs if pair.is_accepted is None and pair.label != "other"]
    confirmed = [pair for pair in known if pair.is_accepted and pair.label == "same"]
    changes = [pair for pair in pairs if pair.label != "none" and pair not in confirmed and pair not in is_open]
    return RoundFacts(
        pairs=len(pairs),
        known=len(known),
        accepted=sum(bool(pair.is_accepted) for pair in known),
        item_tokens=ITEM_TOKENS * (len(pairs) - len(known)),
        changes=len(changes),
        changes_if_reached=sum(bool(pair.is_accepted) and pair.label == "none" for pair in known),
        changes_if_not=len(confirmed) + sum(pair.label == "same" for pair in is_open),
        may_change=len(is_open),
    )


def rounds_of(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    return [pairs[first : first + N] for first in range(0, len(pairs), N)]


class Outcome(NamedTuple):
    rounds: int
    pairs_to_score: int
    pairs_reused: int
    tokens: int
    label_changes: int
    past_stop_pairs: int
    past_stop_tokens: int


def walk(pairs: Sequence[Pair], accepted: Sequence[bool], rule: RoundRule) -> Outcome:
    """Score for real: each pair is accepted or not; count what that takes, which labels change, what comes after."""
    n_rounds = scored = reused = tokens = changes = past_stop = past_stop_tokens = 0
    reached = True
    for number, (batch, decisions) in enumerate(zip(rounds_of(pairs), rounds_of(accepted), strict=True)):
        new = [pair for pair in batch if pair.is_accepted is None]
        cost = mis_tokens(QUERY_TOKENS, [ITEM_TOKENS] * len(new))
        if reached:
            n_rounds, scored, reused = n_rounds + 1, scored + len(new), reused + len(batch) - len(new)
            tokens += cost
        else:
            past_stop, past_stop_tokens = past_stop + len(new), past_stop_tokens + cost
        for pair, is_accepted in zip(batch, decisions, strict=True):
            after = "same" if reached and is_accepted else "none"
            changes += after != pair.label
        is_last = (number + 1) * N >= len(pairs)
        outcome = rule.outcome(judged=len(batch), accepted=sum(decisions), missing=0, is_last_round=is_last)
        reached = reached and outcome == "goes_on"
    return Outcome(n_rounds, scored, reused, tokens, changes, past_stop, past_stop_tokens)


def outcomes(pairs: Sequence[Pair], rule: RoundRule, chance: float) -> Iterator[tuple[float, Outcome]]:
    """Yield all that can happen, each with its chance, where a pair without a judgment is accepted by `chance`."""
    unknown = [place for place, pair in enumerate(pairs) if pair.is_accepted is None]
    for drawn in product([True, False], repeat=len(unknown)):
        accepted = [bool(pair.is_accepted) for pair in pairs]
        for place, is_accepted in zip(unknown, drawn, strict=True):
            accepted[place] = is_accepted
        yield chance ** sum(drawn) * (1 - chance) ** (len(drawn) - sum(drawn)), walk(pairs, accepted, rule)


class ByCoin(NamedTuple):
    """Each unknown pair is accepted by the same chance, whatever is known of the others."""

    chance: float

    def chance_to_go_on(self, round: int, facts: RoundFacts, rule: RoundRule) -> float:
        drawn = list(product([True, False], repeat=facts.unknown))
        chances = [self.chance ** sum(one) * (1 - self.chance) ** (len(one) - sum(one)) for one in drawn]
        return sum(p for p, one in zip(chances, drawn, strict=True) if goes_on(facts, sum(one), rule))

    def accepted_share(self, round: int, facts: RoundFacts) -> float:
        return self.chance


def planned(pairs: Sequence[Pair], rule: RoundRule, chance: float, *, is_sampled: bool = True) -> Forecast:
    rounds = [facts_of(batch) for batch in rounds_of(pairs)]
    return forecast(QUERY_TOKENS, rounds, rule, ByCoin(chance), is_sampled=is_sampled)


@settings(max_examples=200, deadline=None)
@given(st.lists(PAIRS, min_size=1, max_size=9), RULES, st.sampled_from([0.0, 0.3, 0.9]))
def test_at_least_and_at_most_are_what_can_happen_and_expected_is_its_mean(
    pairs: list[Pair], rule: RoundRule, chance: float
) -> None:
    found, every = planned(pairs, rule, chance), list(outcomes(pairs, rule, chance))
    for name in ("rounds", "pairs_to_score", "pairs_reused", "tokens", "past_stop_pairs", "past_stop_tokens"):
        figure: Figure = getattr(found, name)
        values = [getattr(outcome, name) for _, outcome in every]
        assert (figure.min, figure.max) == (min(values), max(values)), name
        assert figure.expected == pytest.approx(sum(p * getattr(outcome, name) for p, outcome in every)), name
    assert planned(pairs, rule, chance, is_sampled=False).past_stop_tokens == (0, 0, 0), "who is not drawn stops"


@settings(max_examples=100, deadline=None)
@given(st.lists(PAIRS, min_size=1, max_size=9), RULES)
def test_the_least_of_a_sampled_member_goes_with_the_most_past_its_stop(pairs: list[Pair], rule: RoundRule) -> None:
    found = planned(pairs, rule, 0.3)
    unknown = sum(pair.is_accepted is None for pair in pairs)
    every = {(outcome.pairs_to_score, outcome.past_stop_pairs) for _, outcome in outcomes(pairs, rule, 0.3)}
    assert {walked + past for walked, past in every} == {unknown}, "it is judged to its last candidate"
    assert found.pairs_to_score.min + found.past_stop_pairs.max == unknown
    assert found.pairs_to_score.max + found.past_stop_pairs.min == unknown


@settings(max_examples=200, deadline=None)
@given(st.lists(PAIRS, min_size=1, max_size=9), RULES)
def test_no_other_number_of_labels_can_change(pairs: list[Pair], rule: RoundRule) -> None:
    found = planned(pairs, rule, 0.5).label_changes
    changes = [outcome.label_changes for _, outcome in outcomes(pairs, rule, 0.5)]
    assert found.min <= min(changes) and max(changes) <= found.max
    assert found.min <= found.expected <= found.max
    if all(pair.is_accepted is not None for pair in pairs):
        assert found.min == found.max == changes[0], "nothing is left to chance"


def test_an_empty_slot_is_neither_scored_nor_counted() -> None:
    rule = RoundRule(candidates_per_round=N, stop_below=0.5)
    empty = RoundFacts(pairs=0, known=0, accepted=0, changes=3)
    found = forecast(7, [empty, RoundFacts(pairs=2, known=2, accepted=0)], rule, EveryoneGoesOn())
    assert found.rounds == (2, 2, 2) and found.tokens == (0, 0, 0), "three retired candidates stop nobody"
    assert found.label_changes == (3, 3, 3), "and their labels go"


def test_a_round_known_in_part_costs_its_query_again() -> None:
    facts = RoundFacts(pairs=3, known=2, accepted=2, item_tokens=3)
    found = forecast(7, [facts], RoundRule(candidates_per_round=3, stop_below=0.1), EveryoneGoesOn())
    assert found.tokens == (10, 10, 10) and found.pairs_to_score == (1, 1, 1)


HISTORY = RoundHistory(members=100, went_on=40, pairs=50.0, accepted_share=0.06, variance=0.012)


def test_a_round_that_nobody_knows_goes_on_as_often_as_before() -> None:
    rule, unknown = RoundRule(candidates_per_round=50, stop_below=0.1), RoundFacts(pairs=50, known=0, accepted=0)
    survival = SurvivalOf((HISTORY,))
    assert survival.chance_to_go_on(0, unknown, rule) == 0.4
    assert survival.chance_to_go_on(5, unknown, rule) == 0.4, "further than that run got: as its last round"


def test_what_is_known_of_a_member_speaks_louder_than_the_others() -> None:
    rule, survival = RoundRule(candidates_per_round=50, stop_below=0.02), SurvivalOf((HISTORY,))
    one_left = [RoundFacts(pairs=50, known=49, accepted=0), RoundFacts(pairs=50, known=10, accepted=0)]
    almost_known, hardly_known = (survival.chance_to_go_on(0, facts, rule) for facts in one_left)
    assert almost_known < 0.02 < hardly_known < 0.4


def test_newcomers_that_are_rarely_accepted_let_fewer_members_go_on() -> None:
    rule = RoundRule(candidates_per_round=50, stop_below=0.02)
    in_part, unknown = RoundFacts(pairs=50, known=47, accepted=0), RoundFacts(pairs=50, known=0, accepted=0)
    alike, rarer = SurvivalOf((HISTORY,)), SurvivalOf((HISTORY,), newcomer_ratio=0.2)
    chances = [survival.chance_to_go_on(0, in_part, rule) for survival in (rarer, alike)]
    assert chances[0] == pytest.approx(0.2 * chances[1], rel=0.05)
    assert rarer.accepted_share(0, in_part) == pytest.approx(0.2 * 0.06)
    assert rarer.chance_to_go_on(0, unknown, rule) == 0.4 and rarer.accepted_share(0, unknown) == 0.06, "all is new"


def test_the_ratio_of_newcomers_is_what_was_seen_over_what_the_known_pairs_promise() -> None:
    seen = [
        KnownInPart(known=1000, known_accepted=200, scored=500, scored_accepted=20),
        KnownInPart(known=1000, known_accepted=20, scored=500, scored_accepted=2),
    ]
    assert newcomer_ratio(seen) == pytest.approx(23 / 111)
    few = [KnownInPart(known=50, known_accepted=1, scored=2, scored_accepted=0)]
    assert newcomer_ratio(few) == pytest.approx(1, rel=0.05) and newcomer_ratio([]) == 1.0, "few pairs say little"


def test_the_chances_of_a_beta_binomial_add_up_and_have_its_mean() -> None:
    chances = [beta_binomial(k, 12, 0.7, 3.1) for k in range(13)]
    assert sum(chances) == pytest.approx(1.0)
    assert sum(k * p for k, p in enumerate(chances)) == pytest.approx(12 * 0.7 / 3.8)


def test_the_chances_of_all_endings_add_up() -> None:
    rounds = [RoundFacts(pairs=4, known=known, accepted=0) for known in (0, 2, 3, 0)]
    ends = list(endings(rounds, RoundRule(candidates_per_round=4, stop_below=0.25), SurvivalOf((HISTORY,))))
    assert [end.rounds for end in ends] == [1, 2, 3, 4] and sum(end.chance for end in ends) == pytest.approx(1.0)


K, ROUND = 200, RoundRule(candidates_per_round=50, stop_below=0.02)


class Member(NamedTuple):
    """A member whose rounds accept at shares of its own: members differ, as they do in life."""

    decisions: list[bool]
    known: list[bool]


def population(draw: random.Random, n: int, *, known_share: float) -> list[Member]:
    members = []
    for _ in range(n):
        shares = [draw.betavariate(0.8, 8.0) * fall for fall in (1.0, 0.6, 0.3, 0.15)]
        decisions = [draw.random() < shares[rank // 50] for rank in range(K)]
        members.append(Member(decisions, [draw.random() < known_share for _ in range(K)]))
    return members


def score(member: Member) -> tuple[list[tuple[int, int]], int, int]:
    """Walk for real; returns judged and accepted by round, pairs scored, tokens."""
    rounds, pairs, tokens = [], 0, 0
    for first in range(0, K, 50):
        accepted = sum(member.decisions[first : first + 50])
        unknown = 50 - sum(member.known[first : first + 50])
        rounds.append((50, accepted))
        pairs, tokens = pairs + unknown, tokens + mis_tokens(100, [6] * unknown)
        if accepted / 50 < ROUND.stop_below:
            break
    return rounds, pairs, tokens


def history_of(members: Sequence[Member]) -> SurvivalOf:
    walked = [score(member)[0] for member in members]
    histories = []
    for number in range(max(map(len, walked))):
        rows = [rounds[number] for rounds in walked if len(rounds) > number]
        shares = [accepted / judged for judged, accepted in rows]
        mean = sum(shares) / len(shares)
        histories.append(
            RoundHistory(
                members=len(rows),
                went_on=sum(share >= ROUND.stop_below for share in shares),
                pairs=50.0,
                accepted_share=mean,
                variance=sum((share - mean) ** 2 for share in shares) / len(shares),
            )
        )
    return SurvivalOf(tuple(histories))


def facts_of_member(member: Member) -> list[RoundFacts]:
    found = []
    for first in range(0, K, 50):
        places = [place for place in range(first, first + 50) if member.known[place]]
        accepted = sum(member.decisions[place] for place in places)
        facts = RoundFacts(pairs=50, known=len(places), accepted=accepted, item_tokens=6 * (50 - len(places)))
        found.append(facts)
    return found


@pytest.mark.parametrize("known_share", [0.0, 0.3, 0.9, 0.98], ids=lambda share: f"{share:.0%} known")
def test_after_a_comparable_run_expected_is_within_a_tenth_of_what_it_comes_to(known_share: float) -> None:
    """500 members have been labelled; then 500 others of the same population are, part of whose pairs are known."""
    draw = random.Random(0)
    survival = history_of(population(draw, 500, known_share=0.0))
    members = population(draw, 500, known_share=known_share)
    plans = [forecast(100, facts_of_member(member), ROUND, survival) for member in members]
    pairs, tokens = (sum(score(member)[place] for member in members) for place in (1, 2))
    expected_pairs = sum(plan.pairs_to_score.expected for plan in plans)
    expected_tokens = sum(plan.tokens.expected for plan in plans)
    assert expected_pairs == pytest.approx(pairs, rel=0.1) and expected_tokens == pytest.approx(tokens, rel=0.1)
    assert sum(plan.tokens.min for plan in plans) <= tokens <= sum(plan.tokens.max for plan in plans)


def with_newcomers(draw: random.Random, members: Sequence[Member], n: int) -> list[Member]:
    """Return the members with n entries a round that came into the catalog, accepted a fifth as often as the others."""
    found = []
    for member in members:
        decisions, known = list(member.decisions), [True] * K
        for rank in (rank for first in range(0, K, 50) for rank in draw.sample(range(first, first + 50), n)):
            decisions[rank], known[rank] = decisions[rank] and draw.random() < 0.2, False
        for rank in range(50 * len(score(member)[0]), K):
            known[rank] = False  # it was never reached
        found.append(Member(decisions, known))
    return found


def known_in_part(members: Sequence[Member]) -> list[KnownInPart]:
    """Sum the rounds that the members walk and that are known in part, as a run's outcomes do."""
    found = []
    for number in range(K // 50):
        places = range(50 * number, 50 * number + 50)
        walked = [m for m in members if len(score(m)[0]) > number and 0 < sum(m.known[rank] for rank in places) < 50]
        known = [m.decisions[rank] for m in walked for rank in places if m.known[rank]]
        scored = [m.decisions[rank] for m in walked for rank in places if not m.known[rank]]
        if known:
            found.append(KnownInPart(known=len(known), known_accepted=sum(known), scored=len(scored),
                                     scored_accepted=sum(scored)))  # fmt: skip
    return found


def test_a_pilot_of_an_update_brings_expected_within_a_tenth() -> None:
    """500 members have been labelled; then entries come into the catalog, and 50 of the members are walked first."""
    draw = random.Random(0)
    before = population(draw, 500, known_share=0.0)
    rounds, members = history_of(before).rounds, with_newcomers(draw, before, n=3)
    ratio = newcomer_ratio(known_in_part(members[:50]))
    actual = sum(score(member)[1] for member in members)

    def expected(survival: SurvivalOf) -> float:
        plans = (forecast(100, facts_of_member(member), ROUND, survival) for member in members)
        return sum(plan.pairs_to_score.expected for plan in plans)

    assert expected(SurvivalOf(rounds, ratio)) == pytest.approx(actual, rel=0.1)
    assert expected(SurvivalOf(rounds)) > 1.1 * actual, "as if entries that came in were like any others"
