"""Precision, recall and F1 of decisions against known answers."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Counts of decided pairs; ratios without a denominator are NaN, never 0 or 1."""

    true_yes: int
    false_yes: int
    false_no: int
    true_no: int

    @classmethod
    def of(cls, accepted: BoolArray, answers: BoolArray) -> "Agreement":
        """Count decisions (n,) against answers (n,)."""
        if accepted.shape != answers.shape:
            raise ValueError(f"{accepted.shape} decisions for {answers.shape} answers")
        return cls(
            true_yes=int((accepted & answers).sum()),
            false_yes=int((accepted & ~answers).sum()),
            false_no=int((~accepted & answers).sum()),
            true_no=int((~accepted & ~answers).sum()),
        )

    @property
    def n_pairs(self) -> int:
        """All pairs counted."""
        return self.true_yes + self.false_yes + self.false_no + self.true_no

    @property
    def precision(self) -> float:
        """Share of the accepted pairs that are supported."""
        return _ratio(self.true_yes, self.true_yes + self.false_yes)

    @property
    def recall(self) -> float:
        """Share of the supported pairs that are accepted."""
        return _ratio(self.true_yes, self.true_yes + self.false_no)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _ratio(2 * self.true_yes, 2 * self.true_yes + self.false_yes + self.false_no)

    @property
    def share_no(self) -> float:
        """Share of the pairs that are unsupported: what always answering NO gets right."""
        return _ratio(self.false_yes + self.true_no, self.n_pairs)

    @property
    def false_yes_share(self) -> float:
        """Share of the unsupported pairs that are accepted."""
        return _ratio(self.false_yes, self.false_yes + self.true_no)

    def summary(self) -> dict[str, float]:
        """Return the figures that reports print."""
        return {
            "n_pairs": self.n_pairs,
            "precision": round(self.precision, 4),
            "recall": round(self.recall, 4),
            "f1": round(self.f1, 4),
            "share_no": round(self.share_no, 4),
            "false_yes_share": round(self.false_yes_share, 5),
            "accuracy": round(_ratio(self.true_yes + self.true_no, self.n_pairs), 4),
        }


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
