"""Rounds of consecutive candidates, and when a member's labelling stops (paper, section 2.1)."""

from dataclasses import dataclass
from typing import Literal

from mis_scoring.core.errors import DataError

Reason = Literal["goes_on", "accepted_too_little", "candidates_exhausted", "incomplete"]


@dataclass(frozen=True, kw_only=True)
class RoundRule:
    """How many candidates make a round (N), and under which accepted fraction a member stops."""

    candidates_per_round: int
    stop_below: float

    def __post_init__(self) -> None:
        """Refuse a rule that means nothing."""
        if self.candidates_per_round < 1:
            raise DataError(f"candidates_per_round is {self.candidates_per_round}; it must be at least 1")
        if not 0.0 <= self.stop_below <= 1.0:
            raise DataError(f"stop_below is {self.stop_below}; it must lie in [0, 1]")

    def round_of(self, rank: int) -> int:
        """Return the 0-based round that a 0-based rank falls into."""
        return rank // self.candidates_per_round

    def n_rounds(self, n_candidates: int) -> int:
        """Return ceil(K / N), the most rounds that K candidates can take."""
        return -(-n_candidates // self.candidates_per_round)

    def outcome(self, *, judged: int, accepted: int, missing: int, is_last_round: bool) -> Reason:
        """Say what a round decides for its member.

        A member goes on while the accepted fraction of the judged items (new and reused together) is at least
        `stop_below`; a round in which nothing was to be judged stops nobody. A round with missing scores neither stops
        nor advances a member.
        """
        if missing > 0:
            return "incomplete"
        if judged > 0 and accepted / judged < self.stop_below:
            return "accepted_too_little"
        return "candidates_exhausted" if is_last_round else "goes_on"
