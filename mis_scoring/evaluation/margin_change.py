"""What becomes of the labels when the same model computes in another numeric profile: decisions, quality, margins.

Both have judged the same pairs, each at its own cut: what is compared is what a deployment would switch between.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.core.readout import FloatArray, scores_of_margins
from mis_scoring.evaluation.calibration import expected_calibration_error, reliability_bins
from mis_scoring.evaluation.flips import FlipMatrix
from mis_scoring.evaluation.metrics import Agreement


@dataclass(frozen=True, kw_only=True)
class Quality:
    """F1 and calibration error of decided pairs; NaN where a ratio is one of nothing."""

    f1: float
    calibration_error: float

    @classmethod
    def of(cls, margins: FloatArray, answers: npt.NDArray[np.int8], cut: float) -> "Quality":
        """Judge margins (n,) against answers (n,): 1 supported, 0 unsupported, -1 unknown and left out."""
        known, is_supported = margins[answers >= 0], answers[answers >= 0] == 1
        bins = reliability_bins(scores_of_margins(known.astype(np.float32)), is_supported)
        return cls(f1=Agreement.of(known >= cut, is_supported).f1, calibration_error=expected_calibration_error(bins))


@dataclass(frozen=True, kw_only=True)
class MarginChange:
    """The same pairs before and after.

    Attributes:
        largest_error, p99_error: of |after - before| over all pairs, the 99th percentile beside the largest.
    """

    flips: FlipMatrix
    before: Quality
    after: Quality
    largest_error: float
    p99_error: float

    @classmethod
    def of(
        cls, before: FloatArray, after: FloatArray, answers: npt.NDArray[np.int8], *, cuts: tuple[float, float]
    ) -> "MarginChange":
        """Compare margins (n,), n above 0.

        Args:
            cuts: the margins from which on a pair is accepted, before and after.
        Raises:
            ValueError: the shapes differ.
        """
        flips = FlipMatrix.of(before >= cuts[0], after >= cuts[1], answers)
        error = np.abs(after.astype(np.float64) - before)
        return cls(
            flips=flips,
            before=Quality.of(before, answers, cuts[0]),
            after=Quality.of(after, answers, cuts[1]),
            largest_error=float(error.max()),
            p99_error=float(np.quantile(error, 0.99)),
        )

    @property
    def f1_loss(self) -> float:
        """How much F1 falls; below 0 where it rises, NaN where one of the two has none."""
        return self.before.f1 - self.after.f1

    @property
    def calibration_rise(self) -> float:
        """How much the calibration error rises."""
        return self.after.calibration_error - self.before.calibration_error

    @property
    def n_flips(self) -> int:
        """Pairs decided otherwise."""
        return self.flips.yes_to_no + self.flips.no_to_yes

    @property
    def n_became_right(self) -> int:
        """Flips that the known answer takes the later side on."""
        return self.flips.yes_to_no_right + self.flips.no_to_yes_right

    @property
    def n_became_wrong(self) -> int:
        """Flips that it takes the earlier side on."""
        return self.flips.yes_to_no_wrong + self.flips.no_to_yes_wrong
