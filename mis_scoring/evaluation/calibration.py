"""Whether a score means what it says: of the pairs scored 0.8, are four in five supported?

Renormalising over two tokens does not calibrate a score (paper, section 3.3), so this is measured and shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

N_BINS = 15


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """The pairs whose score lies in [low, high), the last bin with its upper end; ratios of no pair are NaN."""

    low: float
    high: float
    n_pairs: int
    mean_score: float
    supported_share: float


def reliability_bins(
    scores: npt.NDArray[np.float64], answers: npt.NDArray[np.bool_], *, n_bins: int = N_BINS
) -> list[ReliabilityBin]:
    """Return bins of equal width over [0, 1]; every pair is in one.

    Raises:
        ValueError: a score lies outside [0, 1].
    """
    if not ((scores >= 0.0) & (scores <= 1.0)).all():
        raise ValueError("want scores in [0, 1]")
    places = np.minimum((scores * n_bins).astype(np.int64), n_bins - 1)
    return [_bin(number, n_bins, scores[places == number], answers[places == number]) for number in range(n_bins)]


def expected_calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the mean distance of score and supported share over all pairs (ECE): each bin counts by its pairs."""
    filled = [found for found in bins if found.n_pairs]
    n_pairs = sum(found.n_pairs for found in filled)
    if not n_pairs:
        return float("nan")
    return sum(found.n_pairs * abs(found.mean_score - found.supported_share) for found in filled) / n_pairs


def _bin(number: int, n_bins: int, scores: npt.NDArray[np.float64], answers: npt.NDArray[np.bool_]) -> ReliabilityBin:
    return ReliabilityBin(
        low=number / n_bins,
        high=(number + 1) / n_bins,
        n_pairs=len(scores),
        mean_score=float(scores.mean()) if len(scores) else float("nan"),
        supported_share=float(answers.mean()) if len(scores) else float("nan"),
    )
