"""What a member's rounds will take before any of them is scored: at least, as expected, at most.

A round whose pairs all have a judgment ends as it must; one with unknown pairs may end either way. So the rounds that a
member walks are known up to a place, and beyond it a question of chance. At least and at most are exact over all
outcomes of the unknown pairs; what is expected rests on a chance for each round that is undecided.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from mis_scoring.core.rounds import RoundRule


@dataclass(frozen=True, kw_only=True)
class RoundFacts:
    """What is known of a member's round; counts of pairs, slots of retired entries left out.

    Attributes:
        pairs: that the round judges.
        known: that have a judgment; accepted: of these.
        item_tokens: of the pairs without a judgment, together.
        changes: labels that change whether the round is reached or not.
        changes_if_reached: labels that change if it is, by judgments that are known.
        changes_if_not: labels that change if it is not: published ones that it would confirm.
        may_change: pairs whose label may change if it is reached, once they are scored.
    """

    pairs: int
    known: int
    accepted: int
    item_tokens: int = 0
    changes: int = 0
    changes_if_reached: int = 0
    changes_if_not: int = 0
    may_change: int = 0

    @property
    def unknown(self) -> int:
        """Pairs that have to be scored."""
        return self.pairs - self.known


class Figure(NamedTuple):
    """One figure of a plan; `min` and `max` are exact, `expected` is an estimate between them."""

    min: float
    expected: float
    max: float


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a member takes: rounds, pairs, tokens of packed requests (ties left out), labels that change.

    What a sampled member takes past its stop stands apart.
    """

    rounds: Figure
    pairs_to_score: Figure
    pairs_reused: Figure
    tokens: Figure
    label_changes: Figure
    past_stop_pairs: Figure
    past_stop_tokens: Figure


class Survival(Protocol):
    """What earlier runs say of the rounds to come."""

    def chance_to_go_on(self, round: int, facts: RoundFacts, rule: RoundRule) -> float:
        """Return the chance, in [0, 1], that a member goes on from a round whose end is not known."""

    def accepted_share(self, round: int, facts: RoundFacts) -> float:
        """Return the share of a round's unknown pairs that are accepted, in [0, 1]."""


class Ending(NamedTuple):
    """A member may end after so many rounds, with a chance that may be estimated as 0."""

    rounds: int
    chance: float


def forecast(
    query_tokens: int,
    rounds: Sequence[RoundFacts],
    rule: RoundRule,
    survival: Survival,
    *,
    is_sampled: bool = False,
) -> Forecast:
    """Return what a member's rounds take.

    A round with an unknown pair costs its query once and the items of its unknown pairs (`mis_scoring.core.cost`).

    Args:
        rounds: all that the member's candidates make, at least one.
        is_sampled: the member goes on past its stop, to the last of them.
    """
    ends = list(endings(rounds, rule, survival))

    def walked(figure: Callable[[RoundFacts], float]) -> Figure:
        return _figure(ends, *[[sum(map(figure, rounds[:end])) for end, _ in ends]] * 3)

    def past_stop(figure: Callable[[RoundFacts], float]) -> Figure:
        return _figure(ends, *[[sum(map(figure, rounds[end:])) if is_sampled else 0 for end, _ in ends]] * 3)

    def tokens(facts: RoundFacts) -> int:
        return query_tokens + facts.item_tokens if facts.unknown else 0

    return Forecast(
        rounds=walked(lambda _facts: 1),
        pairs_to_score=walked(lambda facts: facts.unknown),
        pairs_reused=walked(lambda facts: facts.known),
        tokens=walked(tokens),
        label_changes=_label_changes(ends, rounds, survival),
        past_stop_pairs=past_stop(lambda facts: facts.unknown),
        past_stop_tokens=past_stop(tokens),
    )


def endings(rounds: Sequence[RoundFacts], rule: RoundRule, survival: Survival) -> Iterator[Ending]:
    """Yield each number of rounds after which the member may end; the chances add up to 1."""
    chance = 1.0
    for number, facts in enumerate(rounds):
        is_last = number == len(rounds) - 1
        may_stop, may_go_on = _may_stop_and_go_on(facts, rule)
        if is_last or not may_go_on:
            yield Ending(number + 1, chance)
            return
        if may_stop:
            goes_on = survival.chance_to_go_on(number, facts, rule)
            yield Ending(number + 1, chance * (1.0 - goes_on))
            chance *= goes_on


def _may_stop_and_go_on(facts: RoundFacts, rule: RoundRule) -> tuple[bool, bool]:
    """Whether the round stops its member if nothing unknown is accepted, and goes on if all of it is."""
    return not goes_on(facts, 0, rule), goes_on(facts, facts.unknown, rule)


def goes_on(facts: RoundFacts, newly_accepted: int, rule: RoundRule) -> bool:
    """Whether a member goes on when so many of a round's unknown pairs are accepted."""
    accepted = facts.accepted + newly_accepted
    return rule.outcome(judged=facts.pairs, accepted=accepted, missing=0, is_last_round=False) == "goes_on"


def _label_changes(ends: Sequence[Ending], rounds: Sequence[RoundFacts], survival: Survival) -> Figure:
    """Sum the labels that change for certain, and those of unknown pairs: none, by their chance, all."""
    certain, likely, most = [], [], []
    for end, _ in ends:
        reached, beyond = rounds[:end], rounds[end:]
        known = sum(facts.changes for facts in rounds)
        known += sum(facts.changes_if_reached for facts in reached) + sum(facts.changes_if_not for facts in beyond)
        accepted = (survival.accepted_share(number, facts) * facts.may_change for number, facts in enumerate(reached))
        certain.append(known)
        likely.append(known + sum(accepted))
        most.append(known + sum(facts.may_change for facts in reached))
    return _figure(ends, certain, likely, most)


def _figure(ends: Sequence[Ending], low: Sequence[float], likely: Sequence[float], high: Sequence[float]) -> Figure:
    expected = sum(end.chance * value for end, value in zip(ends, likely, strict=True))
    return Figure(min(low), expected, max(high))
