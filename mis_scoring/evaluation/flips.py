"""Which decisions differ between two labelers on the same pairs, and which of the two is right there."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.evaluation.metrics import BoolArray


@dataclass(frozen=True, kw_only=True)
class FlipMatrix:
    """Decisions of a champion (before) and of a challenger (after); unknown answers count in neither `_right`.

    Attributes:
        yes_to_no_right, no_to_yes_right: flips that the known answer takes the challenger's side on.
        yes_to_no_wrong, no_to_yes_wrong: flips that it takes the champion's side on.
    """

    both_yes: int
    both_no: int
    yes_to_no: int
    no_to_yes: int
    yes_to_no_right: int
    yes_to_no_wrong: int
    no_to_yes_right: int
    no_to_yes_wrong: int

    @classmethod
    def of(cls, before: BoolArray, after: BoolArray, answers: npt.NDArray[np.int8]) -> "FlipMatrix":
        """Count decisions (n,) before and after against answers (n,): 1 supported, 0 unsupported, -1 unknown.

        Raises:
            ValueError: the shapes differ.
        """
        if not before.shape == after.shape == answers.shape:
            raise ValueError(f"{before.shape} and {after.shape} decisions for {answers.shape} answers")
        removed, added = before & ~after, ~before & after
        return cls(
            both_yes=int((before & after).sum()),
            both_no=int((~before & ~after).sum()),
            yes_to_no=int(removed.sum()),
            no_to_yes=int(added.sum()),
            yes_to_no_right=int((removed & (answers == 0)).sum()),
            yes_to_no_wrong=int((removed & (answers == 1)).sum()),
            no_to_yes_right=int((added & (answers == 1)).sum()),
            no_to_yes_wrong=int((added & (answers == 0)).sum()),
        )

    @property
    def n_pairs(self) -> int:
        """All pairs compared."""
        return self.both_yes + self.both_no + self.yes_to_no + self.no_to_yes

    @property
    def flipped_share(self) -> float:
        """Share of the pairs decided otherwise."""
        return (self.yes_to_no + self.no_to_yes) / self.n_pairs if self.n_pairs else float("nan")
