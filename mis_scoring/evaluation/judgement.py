"""Compare a labeler with always answering NO and with the retriever's cosine, on the same pairs.

Both the labeler's and the cosine's cuts are chosen on validation members and applied to the others. Unknown pairs
are left out and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.evaluation.members import SUPPORTED, UNKNOWN, EvaluationMember, recall_at_k
from mis_scoring.evaluation.metrics import Agreement
from mis_scoring.evaluation.thresholds import best_margin, threshold_of_margin

FloatArray = npt.NDArray[np.floating]


@dataclass(frozen=True, kw_only=True)
class ScoredPairs:
    """The decided (not unknown) pairs of some members, flattened.

    Attributes:
        margins, similarities: (n,).
        answers: (n,) bool.
        categories: (n,) str.
        n_unknown: pairs left out.
    """

    margins: FloatArray
    similarities: FloatArray
    answers: npt.NDArray[np.bool_]
    categories: npt.NDArray[np.str_]
    n_unknown: int


def scored_pairs(members: Sequence[EvaluationMember], margins: Sequence[FloatArray]) -> ScoredPairs:
    """Flatten members and their margins (one array a member, in candidate order)."""
    candidates = [c for member in members for c in member.candidates]
    flat = np.concatenate([np.asarray(m, np.float64) for m in margins])
    if len(flat) != len(candidates):
        raise ValueError(f"{len(flat)} margins for {len(candidates)} candidates")
    is_known = np.array([c.answer != UNKNOWN for c in candidates])
    return ScoredPairs(
        margins=flat[is_known],
        similarities=np.array([c.similarity for c in candidates])[is_known],
        answers=np.array([c.answer == SUPPORTED for c in candidates])[is_known],
        categories=np.array([c.category for c in candidates])[is_known],
        n_unknown=int((~is_known).sum()),
    )


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """The cuts chosen on validation members: one for all pairs."""

    margin: float
    similarity: float

    @classmethod
    def choose(cls, validation: ScoredPairs) -> "Cuts":
        """Take the best F1 of each."""
        return cls(
            margin=best_margin(validation.margins, validation.answers),
            similarity=best_margin(validation.similarities, validation.answers),
        )

    @property
    def threshold(self) -> float:
        """The labeler's score threshold."""
        return threshold_of_margin(self.margin)


def judge(pairs: ScoredPairs, cuts: Cuts) -> dict[str, object]:
    """Return the figures of one slice: the labeler overall and by category, and both baselines."""
    accepted = pairs.margins >= cuts.margin
    categories = {
        str(name): Agreement.of(accepted[is_in], pairs.answers[is_in]).summary()
        for name in np.unique(pairs.categories)
        for is_in in [pairs.categories == name]
    }
    return {
        "labeler": Agreement.of(accepted, pairs.answers).summary(),
        "by_category": categories,
        "always_no": Agreement.of(np.zeros_like(pairs.answers), pairs.answers).summary(),
        "cosine": Agreement.of(pairs.similarities >= cuts.similarity, pairs.answers).summary(),
        "n_unknown_left_out": pairs.n_unknown,
    }


def judge_slice(members: Sequence[EvaluationMember], margins: Sequence[FloatArray], cuts: Cuts) -> dict[str, object]:
    """Return `judge` of a slice with its retrieval's recall."""
    counts = {"n_members": len(members), "recall_at_k": round(recall_at_k(members), 4)}
    return judge(scored_pairs(members, margins), cuts) | counts
