"""Which labels change when a member's candidates come in another order and in other groups: none should.

The paper measures this for packed generation, whose answers see each other, and bounds it for scoring (section 6.2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.core.readout import FloatArray
from mis_scoring.evaluation.members import EvaluationMember
from mis_scoring.evaluation.metrics import BoolArray

ScoreTogether = Callable[[str, Sequence[str]], FloatArray]
"""(profile text, qualification texts of one request) -> margins (n,), in the texts' order."""

RealArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OrderSensitivity:
    """What reordering and regrouping did.

    Attributes:
        n_arrangements: all of them, the first (rank order, groups of N) included.
        n_changed: pairs whose decision is not the same in all of them.
        max_difference: the furthest that a margin moved.
    """

    n_pairs: int
    n_arrangements: int
    n_changed: int
    max_difference: float

    @property
    def changed_share(self) -> float:
        """Share of the pairs that changed: the paper's inconsistency."""
        return self.n_changed / self.n_pairs if self.n_pairs else float("nan")


def arranged_margins(
    members: Sequence[EvaluationMember], score: ScoreTogether, *, group_size: int, seed: int = 0
) -> RealArray:
    """Score members in three arrangements.

    Rank order in groups of N; shuffled in groups of N; shuffled again in groups of about N/2, so that the sizes differ
    too.

    Returns:
        (3, n_pairs), columns in the order of the members' candidates.
    """
    draw = np.random.default_rng(seed)
    rows: list[list[FloatArray]] = [[], [], []]
    for member in members:
        n = len(member.candidates)
        orders = (np.arange(n), draw.permutation(n), draw.permutation(n))
        sizes = (group_size, group_size, max(1, group_size // 2))
        for row, order, size in zip(rows, orders, sizes, strict=True):
            row.append(_margins_in_order(member, score, order, size))
    return np.array([np.concatenate(row) if row else np.zeros(0) for row in rows], np.float64)


def order_sensitivity(decided: BoolArray, margins: RealArray) -> OrderSensitivity:
    """Compare arrangements.

    Args:
        decided: (n_arrangements, n_pairs) decisions; margins: the same shape.
    """
    spread = margins.max(axis=0) - margins.min(axis=0)
    return OrderSensitivity(
        n_pairs=decided.shape[1],
        n_arrangements=decided.shape[0],
        n_changed=int((decided != decided[0]).any(axis=0).sum()),
        max_difference=float(spread.max()) if spread.size else 0.0,
    )


def _margins_in_order(
    member: EvaluationMember, score: ScoreTogether, order: npt.NDArray[np.int64], size: int
) -> FloatArray:
    found = np.full(len(order), np.nan, np.float32)
    for start in range(0, len(order), size):
        group = order[start : start + size]
        found[group] = score(member.profile_text, [member.candidates[place].text for place in group])
    return found
