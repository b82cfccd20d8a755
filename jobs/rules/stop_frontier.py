"""What another round rule would have judged and lost, told from members whose every candidate was judged."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import sqrt

from jobs.rules.stop_price import Estimate, estimate_total
from mis_scoring.core.rounds import RoundRule


@dataclass(frozen=True, kw_only=True)
class JudgedMember:
    """A member of the sample, judged to the end.

    Attributes:
        n_candidates: how many were proposed; ranks are 0-based.
        accepted_ranks, unjudged_ranks: those with a label, and those where nothing was to be judged.
    """

    n_candidates: int
    accepted_ranks: Collection[int]
    unjudged_ranks: Collection[int]

    def stop_rank(self, rule: RoundRule) -> int:
        """Return the rank after the last one that the rule would have judged."""
        n_rounds = rule.n_rounds(self.n_candidates)
        for number in range(n_rounds):
            first = number * rule.candidates_per_round
            after = min(first + rule.candidates_per_round, self.n_candidates)
            reason = rule.outcome(
                judged=after - first - _within(self.unjudged_ranks, first, after),
                accepted=_within(self.accepted_ranks, first, after),
                missing=0,
                is_last_round=number == n_rounds - 1,
            )
            if reason != "goes_on":
                return after
        return 0

    def lost_and_saved(self, rule: RoundRule) -> tuple[int, int]:
        """Return the labels that the rule would have lost, and the pairs that it would not have judged."""
        stop = self.stop_rank(rule)
        unjudged = _within(self.unjudged_ranks, stop, self.n_candidates)
        return _within(self.accepted_ranks, stop, self.n_candidates), self.n_candidates - stop - unjudged


def _within(ranks: Collection[int], first: int, after: int) -> int:
    return sum(first <= rank < after for rank in ranks)


@dataclass(frozen=True, kw_only=True)
class RunSample:
    """The sample of one run, drawn from `n_members` members that it judged."""

    n_members: int
    members: Sequence[JudgedMember]


@dataclass(frozen=True, kw_only=True)
class FrontierPoint:
    """What a round rule would come to in the runs of the samples, all together.

    Attributes:
        labels, pairs: estimates of what there would be without stopping.
    """

    rule: RoundRule
    labels_lost: Estimate
    pairs_saved: Estimate
    labels: float
    pairs: float


def frontier(samples: Sequence[RunSample], rules: Sequence[RoundRule]) -> list[FrontierPoint]:
    """Return one point a rule.

    Args:
        samples: one a run; each has at least two members, or all there are.
    """
    labels = _added([_estimate(sample, [float(len(m.accepted_ranks)) for m in sample.members]) for sample in samples])
    pairs = _added([_estimate(s, [float(m.n_candidates - len(m.unjudged_ranks)) for m in s.members]) for s in samples])
    return [_point(samples, rule, labels.total, pairs.total) for rule in rules]


def _point(samples: Sequence[RunSample], rule: RoundRule, labels: float, pairs: float) -> FrontierPoint:
    found = [[member.lost_and_saved(rule) for member in sample.members] for sample in samples]
    lost, saved = (
        _added([_estimate(s, [float(one[place]) for one in of]) for s, of in zip(samples, found, strict=True)])
        for place in (0, 1)
    )
    if rule.stop_below == 0.0:  # such a rule stops nobody: nothing is left to estimate
        lost = saved = Estimate(total=0.0, low=0.0, high=0.0)
    return FrontierPoint(rule=rule, labels_lost=lost, pairs_saved=saved, labels=labels, pairs=pairs)


def _estimate(sample: RunSample, values: Sequence[float]) -> Estimate:
    return estimate_total(values, sample.n_members)


def _added(estimates: Sequence[Estimate]) -> Estimate:
    """Add estimates of runs, which were drawn apart: their deviations add in squares."""
    total = sum(one.total for one in estimates)
    below = sqrt(sum((one.total - one.low) ** 2 for one in estimates))
    above = sqrt(sum((one.high - one.total) ** 2 for one in estimates))
    return Estimate(total=total, low=total - below, high=total + above)
