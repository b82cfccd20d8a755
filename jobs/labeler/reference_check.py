"""Hold a labeler's margins in rounds against its reference: the tie band, and what another order does to labels."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mis_scoring.core.readout import FloatArray, margin_of
from mis_scoring.core.tie import in_tie_band
from mis_scoring.evaluation.members import EvaluationMember
from mis_scoring.evaluation.order_sensitivity import Order, OrderChanges, orders_of
from mis_scoring.evaluation.tie_band import TieBand, rounded_up

ScoreMembers = Callable[[Sequence[EvaluationMember], Order], Sequence[FloatArray]]
"""(members, order) -> margins, one array a member in its own candidates' order."""
ORDER_SEED = 0


@dataclass(frozen=True, kw_only=True)
class ReferenceCheck:
    """The tie band, order sensitivity with and without the tie rule, and the reference's margins (n_pairs,)."""

    tie: TieBand
    order: dict[str, Any]
    margins: FloatArray


def check_against_reference(
    members: Sequence[EvaluationMember],
    margins: Sequence[FloatArray],
    *,
    packed: ScoreMembers,
    alone: ScoreMembers,
    is_exact: bool,
    threshold: float,
    candidates_per_round: int,
    n_pairs: int,
    order_members: int,
) -> ReferenceCheck:
    """Score the first members by the reference, and the first of those in other orders.

    Args:
        margins: of the members, as the engine gave them in rank order and rounds of N.
        packed, alone: the engine, and the reference.
        is_exact: the engine gives the same bits under any packing: no pair is a tie.
        n_pairs: at least so many pairs are compared; all, where there are fewer.
        order_members: at most so many members are reordered.
    """
    chosen = _first_pairs(members, n_pairs)
    by_reference = np.concatenate(alone(chosen, _orders(chosen, candidates_per_round)[0]))
    tie = TieBand.of(np.concatenate(margins[: len(chosen)]), by_reference, threshold=threshold)
    few = chosen[:order_members]
    in_each_order = [margins[: len(few)], *(packed(few, order) for order in _orders(few, candidates_per_round)[1:])]
    moved = np.stack([np.concatenate(part) for part in in_each_order])
    eps = 0.0 if is_exact else rounded_up(tie.tie_eps)
    order = {"n_members": len(few), **order_figures(moved, by_reference[: moved.shape[1]], threshold, eps)}
    return ReferenceCheck(tie=tie, order=order, margins=by_reference)


def order_figures(moved: FloatArray, by_reference: FloatArray, threshold: float, eps: float) -> dict[str, Any]:
    """Return how many labels change with the order, with and without the tie rule, and how far a margin moves.

    Args:
        moved: (n_orders, n_pairs) margins; by_reference: (n_pairs,).
        eps: of the tie rule.
    """
    cut = margin_of(threshold)
    decided = moved >= cut
    is_tie = np.stack([in_tie_band(row, threshold=threshold, tie_eps=eps) for row in moved])
    ruled = np.where(is_tie, by_reference >= cut, decided)
    return {
        "without_tie_rule": _changes(decided),
        "with_tie_rule": _changes(ruled),
        "max_difference": float(np.ptp(moved.astype(np.float64), axis=0).max(initial=0.0)),
    }


def _orders(members: Sequence[EvaluationMember], candidates_per_round: int) -> list[Order]:
    """Return rank order in rounds of N; shuffled in groups of N; shuffled again in groups of about N/2."""
    sizes = (candidates_per_round, candidates_per_round, max(1, candidates_per_round // 2))
    return orders_of([len(m.candidates) for m in members], group_sizes=sizes, seed=ORDER_SEED)


def _changes(decisions: npt.NDArray[np.bool_]) -> dict[str, Any]:
    found = OrderChanges.of(list(decisions))
    return asdict(found) | {"changed_share": found.changed_share}


def _first_pairs(members: Sequence[EvaluationMember], n_pairs: int) -> Sequence[EvaluationMember]:
    """Return the first members that have at least `n_pairs` pairs together; all where they have fewer."""
    counts = np.cumsum([len(member.candidates) for member in members])
    return members[: int(np.searchsorted(counts, n_pairs)) + 1]
