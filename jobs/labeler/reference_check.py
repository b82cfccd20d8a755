"""Hold a labeler's margins in rounds against its reference: the tie band, and what another order does to labels."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jobs.labeler.scoring import LabelerScorer
from mis_scoring.core.readout import FloatArray, margin_of
from mis_scoring.core.tie import in_tie_band
from mis_scoring.evaluation.members import EvaluationMember
from mis_scoring.evaluation.order_sensitivity import arranged_margins, order_sensitivity
from mis_scoring.evaluation.tie_band import TieBand, rounded_up


@dataclass(frozen=True, kw_only=True)
class ReferenceCheck:
    """The tie band, order sensitivity with and without the tie rule, and the reference's margins (n_pairs,)."""

    tie: TieBand
    order: dict[str, Any]
    margins: FloatArray


def check_against_reference(
    model_dir: Path,
    scorer: LabelerScorer,
    members: Sequence[EvaluationMember],
    margins: Sequence[FloatArray],
    *,
    threshold: float,
    n_pairs: int,
    order_members: int,
) -> ReferenceCheck:
    """Score the first members by the reference, and the first of those in other orders.

    Args:
        margins: of the members, as the engine gave them in rounds.
        n_pairs: at least so many pairs are compared; all, where there are fewer.
        order_members: at most so many members are reordered.
    """
    from mis_scoring.engines.reference import ReferenceEngine

    chosen = _first_pairs(members, n_pairs)
    reference = replace(scorer, engine=ReferenceEngine(model_dir))
    alone = np.concatenate(reference.score(chosen, what="reference")[0])
    tie = TieBand.of(np.concatenate(margins[: len(chosen)]), alone, threshold=threshold)
    eps = 0.0 if scorer.engine.batch_invariant else rounded_up(tie.tie_eps)
    return ReferenceCheck(tie=tie, order=_order(scorer, chosen[:order_members], alone, threshold, eps), margins=alone)


def _order(
    scorer: LabelerScorer, members: Sequence[EvaluationMember], alone: FloatArray, threshold: float, eps: float
) -> dict[str, Any]:
    moved = arranged_margins(members, scorer.together, group_size=scorer.candidates_per_round)
    decided = moved >= margin_of(threshold)
    ruled = _by_tie_rule(moved, decided, alone[: moved.shape[1]] >= margin_of(threshold), threshold, eps)
    found = {"without_tie_rule": order_sensitivity(decided, moved), "with_tie_rule": order_sensitivity(ruled, moved)}
    order = {rule: asdict(part) | {"changed_share": part.changed_share} for rule, part in found.items()}
    return order | {"n_members": len(members)}


def _by_tie_rule(
    moved: npt.NDArray[np.float64],
    decided: npt.NDArray[np.bool_],
    by_reference: npt.NDArray[np.bool_],
    threshold: float,
    eps: float,
) -> npt.NDArray[np.bool_]:
    is_tie = np.array([in_tie_band(row.astype(np.float32), threshold=threshold, tie_eps=eps) for row in moved])
    return np.where(is_tie, by_reference, decided)


def _first_pairs(members: Sequence[EvaluationMember], n_pairs: int) -> Sequence[EvaluationMember]:
    """Return the first members that have at least `n_pairs` pairs together; all where they have fewer."""
    counts = np.cumsum([len(member.candidates) for member in members])
    return members[: int(np.searchsorted(counts, n_pairs)) + 1]
