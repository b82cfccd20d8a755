"""What early stopping costs and saves, estimated from members who were drawn at random and judged past their stop.

The members who stopped are known one by one; those of them in the sample are a simple random sample of them, so their
mean times the number who stopped is unbiased for the total of all.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom, t

CONFIDENCE = 0.95
INTERVAL = (
    f"{CONFIDENCE:.0%}: Student's t on the members of the sample with the finite population correction; where few of "
    "them have a part in the total, widened to the exact (hypergeometric) interval of how many members have one"
)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A total over all members who stopped, and its interval."""

    total: float
    low: float
    high: float


def estimate_total(values: Sequence[float], n_members: int) -> Estimate:
    """Estimate a total over members from a simple random sample of them.

    Args:
        values: of each sampled member, none negative; at least two, or all there are.
        n_members: how many the sample was drawn from.
    Source: Cochran, Sampling Techniques, 3rd ed., sections 2.5 to 2.8 (t, finite population) and 3.6 (hypergeometric).
    """
    sample = np.asarray(values, dtype=float)
    total = n_members * float(sample.mean())
    if len(sample) == n_members:
        return Estimate(total=total, low=total, high=total)
    variance = (1 - len(sample) / n_members) * float(sample.var(ddof=1)) / len(sample)
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(sample) - 1)) * n_members * float(np.sqrt(variance))
    few_low, few_high = _by_members_with_a_part(sample, n_members)
    seen = float(sample.sum())  # it is lost for certain
    return Estimate(total=total, low=max(seen, min(total - half, few_low)), high=max(total + half, few_high))


def _by_members_with_a_part(sample: NDArray[np.float64], n_members: int) -> tuple[float, float]:
    """Bound how many members have a part, exactly, and take the mean part of those seen; one each where none was.

    A sample of zeros has no variance, and t alone would be certain of 0.
    """
    parts = sample[sample > 0]
    low, high = members_interval(len(parts), len(sample), n_members)
    mean = float(parts.mean()) if len(parts) else 1.0
    return low * mean, high * mean


def members_interval(n_seen: int, n_sampled: int, n_members: int) -> tuple[int, int]:
    """Return the least and most members of the population that leave n_seen of n_sampled credible, each side alone."""
    tail = (1 - CONFIDENCE) / 2
    possible = range(n_seen, n_members - n_sampled + n_seen + 1)
    n_too_few = bisect_left(
        possible, True, key=lambda n: bool(hypergeom.sf(n_seen - 1, n_members, n, n_sampled) > tail)
    )
    n_credible = bisect_left(possible, True, key=lambda n: bool(hypergeom.cdf(n_seen, n_members, n, n_sampled) <= tail))
    return possible[n_too_few], possible[n_credible - 1]


def share_of(estimate: Estimate, done: float) -> Estimate:
    """Return the total as a share of itself and what was done beside it; 0 where both are 0."""
    shares = (value / (value + done) if value else 0.0 for value in (estimate.total, estimate.low, estimate.high))
    total, low, high = shares
    return Estimate(total=total, low=low, high=high)
