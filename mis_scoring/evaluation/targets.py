"""What a threshold is chosen for: the best F1, or a floor of precision. Written `best_f1` or `precision>=0.98`."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.core.errors import DataError
from mis_scoring.evaluation.thresholds import best_margin, margin_of_precision

BEST_F1 = "best_f1"
_FLOOR = re.compile(r"precision\s*>=\s*(0?\.\d+|0|1(?:\.0+)?)")


@dataclass(frozen=True, kw_only=True)
class Target:
    """A stated aim of the threshold; `precision_floor` is None for the best F1."""

    precision_floor: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Read `best_f1` or `precision>=0.98`.

        Raises:
            DataError: the text is neither.
        """
        found = _FLOOR.fullmatch(text.strip())
        if found is None and text.strip() != BEST_F1:
            raise DataError(f"target {text!r} is not known: write {BEST_F1} or precision>=0.98 (a number from 0 to 1)")
        return cls(precision_floor=float(found[1]) if found else None)

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        return BEST_F1 if self.precision_floor is None else f"precision>={self.precision_floor:g}"

    def margin(self, margins: npt.NDArray[np.floating], answers: npt.NDArray[np.bool_]) -> float:
        """Choose the cut on validation pairs.

        Raises:
            DataError: no cut reaches the target.
        """
        if self.precision_floor is None:
            return best_margin(margins, answers)
        return margin_of_precision(margins, answers, floor=self.precision_floor)
