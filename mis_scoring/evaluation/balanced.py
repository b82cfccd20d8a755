"""Agreement on a balanced set: as many unsupported as supported pairs, so that always answering NO gets half.

The paper reports it; the share of supported pairs among retrieved candidates does not move it, so it says nothing of
precision in production.
"""

from dataclasses import dataclass

import numpy as np

from mis_scoring.evaluation.metrics import Agreement, BoolArray


@dataclass(frozen=True, kw_only=True)
class BalancedAgreement:
    """Agreement on one drawn set, and what all draws give on average.

    Attributes:
        drawn: share of right decisions among the `n_pairs` drawn.
        expected: mean of the shares right among all supported and among all unsupported pairs.
    """

    n_pairs: int
    drawn: float
    expected: float
    seed: int


def balanced_agreement(accepted: BoolArray, answers: BoolArray, *, seed: int = 0) -> BalancedAgreement:
    """Draw as many pairs of the larger class as there are of the smaller one, and count right decisions.

    Args:
        accepted, answers: (n,). With one class only there is no such set: NaN.
    """
    counts = Agreement.of(accepted, answers)
    classes = [np.flatnonzero(answers), np.flatnonzero(~answers)]
    size = min(len(places) for places in classes)
    expected = (counts.recall + 1.0 - counts.false_yes_share) / 2.0
    if size == 0:
        return BalancedAgreement(n_pairs=0, drawn=float("nan"), expected=expected, seed=seed)
    draw = np.random.default_rng(seed)
    drawn = np.concatenate([draw.choice(places, size, replace=False) for places in classes])
    is_right = accepted[drawn] == answers[drawn]
    return BalancedAgreement(n_pairs=2 * size, drawn=float(is_right.mean()), expected=expected, seed=seed)
