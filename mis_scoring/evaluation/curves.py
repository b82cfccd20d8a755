"""Precision and recall at every cut: the precision-recall curve, and both over the threshold."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RealArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OperatingPoints:
    """One point a distinct score, best score first: what accepting it and all above gives.

    Attributes:
        cuts, precision, recall, f1: (n_points,).
    """

    cuts: RealArray
    precision: RealArray
    recall: RealArray
    f1: RealArray

    @property
    def average_precision(self) -> float:
        """Precision averaged over the steps of recall: the area under the curve, without interpolation."""
        return float((np.diff(self.recall, prepend=0.0) * self.precision).sum())

    def thinned(self, n_points: int) -> "OperatingPoints":
        """Return at most so many points, evenly by place, first and last kept: enough to draw."""
        places = np.unique(np.linspace(0, len(self.cuts) - 1, min(n_points, len(self.cuts))).round().astype(np.int64))
        return OperatingPoints(
            cuts=self.cuts[places], precision=self.precision[places], recall=self.recall[places], f1=self.f1[places]
        )


def operating_points(scores: npt.NDArray[np.floating], answers: npt.NDArray[np.bool_]) -> OperatingPoints:
    """Return the points of scores (margins, cosines) against answers.

    Raises:
        ValueError: a score is not finite, or no pair is supported.
    """
    if not answers.any() or not np.isfinite(scores).all():
        raise ValueError("want finite scores and at least one supported pair")
    order = np.argsort(-scores, kind="stable")
    ordered, right = np.asarray(scores, np.float64)[order], answers[order]
    is_last = np.append(ordered[:-1] != ordered[1:], True)  # pairs of equal score are never parted
    true_yes = np.cumsum(right)[is_last].astype(np.float64)
    accepted = np.flatnonzero(is_last) + 1.0
    n_supported = float(right.sum())
    return OperatingPoints(
        cuts=ordered[is_last],
        precision=true_yes / accepted,
        recall=true_yes / n_supported,
        f1=2.0 * true_yes / (accepted + n_supported),
    )
