"""Early stopping priced: the size of the draw, the estimate over all samples there are, its interval, the frontier."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.rules.stop_frontier import JudgedMember, RunSample, frontier
from jobs.rules.stop_price import Estimate, estimate_total, members_interval, share_of
from jobs.rules.stop_sample import SampleRule
from mis_scoring.core.rounds import RoundRule

N_SIMULATED = 300


@pytest.mark.parametrize(
    ("n_in_scope", "size"), [(0, 0), (9_999, 0), (10_000, 100), (10_001, 101), (70_000, 700), (1_000_000, 10_000)]
)
def test_a_sample_is_a_share_of_a_run_that_is_large_enough(n_in_scope: int, size: int) -> None:
    assert SampleRule(share=0.01, at_least=100, from_members=10_000).size(n_in_scope) == size


@pytest.mark.parametrize(("n_in_scope", "size"), [(0, 0), (30, 30), (500, 100), (20_000, 200)])
def test_a_small_run_may_be_told_to_draw_the_least_sample(n_in_scope: int, size: int) -> None:
    assert SampleRule(share=0.01, at_least=100, from_members=0).size(n_in_scope) == size
    assert SampleRule(share=0.0, at_least=100, from_members=0).size(n_in_scope) == 0


@given(values=st.lists(st.integers(0, 9), min_size=3, max_size=8), n_sampled=st.integers(2, 4))
def test_the_mean_of_the_estimate_over_every_sample_is_the_truth(values: list[int], n_sampled: int) -> None:
    samples = list(combinations(values, min(n_sampled, len(values))))
    totals = [estimate_total(sample, len(values)).total for sample in samples]
    assert np.mean(totals) == pytest.approx(sum(values))


@given(values=st.lists(st.integers(0, 9), min_size=2, max_size=30), n_more=st.integers(0, 50))
def test_the_interval_holds_the_estimate_and_no_less_than_was_seen(values: list[int], n_more: int) -> None:
    found = estimate_total(values, len(values) + n_more)
    assert sum(values) <= found.low <= found.total + 1e-9 <= found.high + 2e-9
    if n_more == 0:
        assert found == Estimate(total=sum(values), low=sum(values), high=sum(values))


@pytest.mark.parametrize(
    ("mean", "shape", "n_sampled"), [(0.02, 1.0, 100), (0.2, 0.2, 100), (1.0, 0.5, 200), (8.0, 2.0, 60)]
)
def test_the_interval_covers_the_truth_as_often_as_it_says(mean: float, shape: float, n_sampled: int) -> None:
    """Most members lose nothing, a few lose several: counts of a negative binomial."""
    draw = np.random.default_rng(7)
    members = draw.negative_binomial(shape, shape / (shape + mean), size=2000).astype(float)
    samples = (members[draw.choice(len(members), n_sampled, replace=False)] for _ in range(N_SIMULATED))
    found = [estimate_total(sample.tolist(), len(members)) for sample in samples]
    covered = np.mean([one.low <= members.sum() <= one.high for one in found])
    assert covered >= 0.92


def test_a_sample_that_lost_nothing_is_not_certain_of_it() -> None:
    found = estimate_total([0.0] * 100, 10_000)
    assert (found.total, found.low) == (0.0, 0.0) and 300 < found.high < 400


@given(n_members=st.integers(2, 25), data=st.data())
def test_how_many_members_have_a_part_is_bounded_as_by_trying_every_number(n_members: int, data: st.DataObject) -> None:
    n_sampled = data.draw(st.integers(1, n_members))
    n_seen = data.draw(st.integers(0, n_sampled))
    credible = [n for n in range(n_members + 1) if min(_tails(n_seen, n_sampled, n, n_members)) > 0.025]
    assert members_interval(n_seen, n_sampled, n_members) == (min(credible), max(credible))


def _tails(n_seen: int, n_sampled: int, n_with: int, n_members: int) -> tuple[float, float]:
    """The chances to see at least and at most so many, counted over all samples."""
    from math import comb

    ways = [comb(n_with, k) * comb(n_members - n_with, n_sampled - k) for k in range(n_sampled + 1)]
    return sum(ways[n_seen:]) / sum(ways), sum(ways[: n_seen + 1]) / sum(ways)


def test_a_share_is_of_what_there_would_be() -> None:
    found = share_of(Estimate(total=25, low=0, high=100), 75)
    assert (found.total, found.low, found.high) == (0.25, 0.0, pytest.approx(100 / 175))
    assert share_of(Estimate(total=0, low=0, high=0), 0).total == 0.0


MEMBERS = st.builds(
    lambda n, accepted, unjudged: JudgedMember(
        n_candidates=n,
        accepted_ranks=sorted(rank for rank in accepted - unjudged if rank < n),
        unjudged_ranks=sorted(rank for rank in unjudged if rank < n),
    ),
    st.integers(1, 40),
    st.sets(st.integers(0, 39)),
    st.sets(st.integers(0, 39), max_size=4),
)
RULES = st.builds(RoundRule, candidates_per_round=st.integers(1, 15), stop_below=st.sampled_from([0.0, 0.1, 0.3, 1.0]))


@given(members=st.lists(MEMBERS, min_size=2, max_size=6), rule=RULES)
def test_a_point_of_the_frontier_is_a_walk_of_every_member(members: list[JudgedMember], rule: RoundRule) -> None:
    point = frontier([RunSample(n_members=len(members), members=members)], [rule])[0]
    walked = [_walk(member, rule) for member in members]
    assert point.labels_lost.total == pytest.approx(sum(lost for lost, _ in walked))
    assert point.pairs_saved.total == pytest.approx(sum(saved for _, saved in walked))
    assert point.labels == pytest.approx(sum(len(member.accepted_ranks) for member in members))
    assert point.pairs == pytest.approx(sum(m.n_candidates - len(m.unjudged_ranks) for m in members))


def _walk(member: JudgedMember, rule: RoundRule) -> tuple[int, int]:
    """Candidate by candidate: (labels lost, pairs saved)."""
    lost = saved = judged = accepted = 0
    is_stopped = False
    for rank in range(member.n_candidates):
        is_accepted, is_judged = rank in member.accepted_ranks, rank not in member.unjudged_ranks
        if is_stopped:
            lost, saved = lost + is_accepted, saved + is_judged
            continue
        judged, accepted = judged + is_judged, accepted + is_accepted
        if (rank + 1) % rule.candidates_per_round == 0:
            is_stopped = judged > 0 and accepted / judged < rule.stop_below
            judged = accepted = 0
    return lost, saved


def test_a_higher_bar_never_loses_less_or_saves_less() -> None:
    draw = np.random.default_rng(3)
    members = [
        JudgedMember(
            n_candidates=200, accepted_ranks=np.flatnonzero(draw.random(200) < 0.2).tolist(), unjudged_ranks=[]
        )
        for _ in range(20)
    ]
    rules = [RoundRule(candidates_per_round=50, stop_below=bar) for bar in (0.0, 0.1, 0.2, 0.4, 1.0)]
    points = frontier([RunSample(n_members=2000, members=members)], rules)
    assert points[0].labels_lost == points[0].pairs_saved == Estimate(total=0, low=0, high=0), "it never stops anybody"
    for name in ("labels_lost", "pairs_saved"):
        totals = [getattr(point, name).total for point in points]
        assert totals == sorted(totals)


def test_runs_that_were_drawn_apart_add_up_with_less_doubt_than_one() -> None:
    members = [JudgedMember(n_candidates=8, accepted_ranks=[5] * (n % 2), unjudged_ranks=[]) for n in range(40)]
    sample = RunSample(n_members=1000, members=members)
    rule = RoundRule(candidates_per_round=4, stop_below=0.25)
    one, four = frontier([sample], [rule])[0], frontier([sample] * 4, [rule])[0]
    alone = estimate_total([float(member.lost_and_saved(rule)[0]) for member in members], 1000)
    assert (one.labels_lost.low, one.labels_lost.high) == pytest.approx((alone.low, alone.high))
    assert four.labels_lost.total == pytest.approx(4 * one.labels_lost.total)
    assert four.labels_lost.high - four.labels_lost.low == pytest.approx(
        2 * (one.labels_lost.high - one.labels_lost.low)
    )
