"""How far members get: the chance that one goes on from a round, by what the rounds of an earlier run did.

A round nobody knows anything of goes on as often as it did in that run. Of a round that is known in part, the known
part speaks: its unknown pairs are accepted by a beta-binomial whose mean and spread are those of the run's rounds, and
which has seen the member's known pairs. Those unknown pairs are newcomers: entries that came into a catalog, say. Where
a run has told how much rarer than others newcomers are accepted, the mean is that much lower.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma

from jobs.rules.forecast import RoundFacts, goes_on
from mis_scoring.core.rounds import RoundRule

_SAME, _ANY = 0.001, 0.999  # correlation of a member's pairs: all members alike, each member all or nothing


@dataclass(frozen=True, kw_only=True)
class RoundHistory:
    """What a round did in an earlier run.

    Attributes:
        members: that were judged to the round's end, at least 1; went_on: of these.
        pairs: judged, a member.
        accepted_share: of a member's pairs, the mean over members; variance: over members, of the same share.
    """

    members: int
    went_on: int
    pairs: float
    accepted_share: float
    variance: float

    @property
    def prior_pairs(self) -> float:
        """How many judged pairs of a member weigh as much as what is known of all members (method of moments)."""
        chance = self.accepted_share * (1.0 - self.accepted_share)
        if chance == 0.0 or self.pairs <= 1.0:
            return 1.0 / _SAME - 1.0
        correlation = (self.variance * self.pairs / chance - 1.0) / (self.pairs - 1.0)
        return 1.0 / min(max(correlation, _SAME), _ANY) - 1.0


@dataclass(frozen=True, kw_only=True)
class KnownInPart:
    """The rounds of one number that a run found known in part, summed over its members.

    Attributes:
        known, scored: pairs that had a judgment, and that the run scored; known_accepted, scored_accepted: of these.
    """

    known: int
    known_accepted: int
    scored: int
    scored_accepted: int


def newcomer_ratio(rounds: Iterable[KnownInPart]) -> float:
    """Return how often newcomers were accepted, as a multiple of how often the known pairs of the same rounds were.

    One acceptance is added to what was seen and to what the known pairs promise: few pairs say little, and stay near 1.
    """
    seen, promised = 1.0, 1.0
    for one in rounds:
        seen += one.scored_accepted
        promised += one.scored * one.known_accepted / one.known
    return seen / promised


@dataclass(frozen=True)
class SurvivalOf:
    """The survival of a run, one history a round, at least one; a round that the run did not reach goes as its last.

    Attributes:
        newcomer_ratio: see the function; 1 where no run tells.
    """

    rounds: tuple[RoundHistory, ...]
    newcomer_ratio: float = 1.0

    def chance_to_go_on(self, round: int, facts: RoundFacts, rule: RoundRule) -> float:
        """Return the chance that a member goes on from a round whose end is not known."""
        history = self._of(round)
        if facts.known == 0:
            return history.went_on / history.members
        return _chance(history, self.newcomer_ratio, facts.pairs, facts.known, facts.accepted, rule)

    def accepted_share(self, round: int, facts: RoundFacts) -> float:
        """Return the share of the round's pairs that were accepted; of newcomers, so many times that."""
        share = self._of(round).accepted_share
        return min(1.0, share * self.newcomer_ratio) if facts.known else share

    def _of(self, round: int) -> RoundHistory:
        return self.rounds[min(round, len(self.rounds) - 1)]


@dataclass(frozen=True)
class EveryoneGoesOn:
    """What is assumed where no run tells: all is accepted, so that what is expected is the most."""

    def chance_to_go_on(self, round: int, facts: RoundFacts, rule: RoundRule) -> float:
        """Return 1."""
        return 1.0

    def accepted_share(self, round: int, facts: RoundFacts) -> float:
        """Return 1."""
        return 1.0


@lru_cache(maxsize=100_000)
def _chance(history: RoundHistory, ratio: float, pairs: int, known: int, accepted: int, rule: RoundRule) -> float:
    facts = RoundFacts(pairs=pairs, known=known, accepted=accepted)
    needed = next((k for k in range(facts.unknown + 1) if goes_on(facts, k, rule)), facts.unknown + 1)
    prior = history.prior_pairs
    share = min(max(history.accepted_share, 1e-9), 1.0 - 1e-9)
    seen, mean = prior + known, (prior * share + accepted) / (prior + known)
    yes = seen * min(mean * ratio, 1.0 - 1e-9)
    return min(1.0, sum(beta_binomial(k, facts.unknown, yes, seen - yes) for k in range(needed, facts.unknown + 1)))


def beta_binomial(k: int, n: int, yes: float, no: float) -> float:
    """Return the chance that k of n are accepted where the chance of one is drawn from Beta(yes, no)."""
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + _log_beta(k + yes, n - k + no) - _log_beta(yes, no))


def _log_beta(yes: float, no: float) -> float:
    return lgamma(yes) + lgamma(no) - lgamma(yes + no)
