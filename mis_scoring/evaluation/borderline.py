"""The pairs nearest the threshold, for a person to read. They hold profile texts: personal data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mis_scoring.core.readout import FloatArray
from mis_scoring.evaluation.members import EvaluationMember

N_PAIRS = 50


@dataclass(frozen=True, kw_only=True)
class BorderlinePair:
    """One pair with its texts, its margin less the cut, and the known answer."""

    member_id: str
    profile_text: str
    qualification_id: str
    qualification_text: str
    category: str
    answer: str
    distance: float


def borderline_pairs(
    members: Sequence[EvaluationMember], margins: Sequence[FloatArray], cut: float, *, n_pairs: int = N_PAIRS
) -> list[BorderlinePair]:
    """Return the nearest pairs, nearest first; unknown answers are among them.

    Args:
        margins: one array a member, in candidate order.
    """
    places = [(member, c) for member in members for c in member.candidates]
    distances = np.concatenate([np.asarray(m, np.float64) for m in margins]) - cut
    nearest = np.argsort(np.abs(distances), kind="stable")[:n_pairs]
    return [
        BorderlinePair(
            member_id=member.member_id,
            profile_text=member.profile_text,
            qualification_id=candidate.qualification_id,
            qualification_text=candidate.text,
            category=candidate.category,
            answer=candidate.answer,
            distance=float(distances[place]),
        )
        for place in nearest.tolist()
        for member, candidate in [places[place]]
    ]
