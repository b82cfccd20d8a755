"""How far an engine's margins lie from the reference's, and how many pairs that leaves near the threshold."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

import numpy as np
import numpy.typing as npt

from mis_scoring.core.readout import margin_of

SAFETY = 2.0  # the stored bound is this many times the largest difference seen


@dataclass(frozen=True, kw_only=True)
class TieBand:
    """What packing did to margins.

    Attributes:
        max_difference: the largest |engine - reference|; tie_eps: the bound to store.
        n_in_band: pairs within `tie_eps` of the cut, which the reference decides.
        n_flips: decisions that differ; all of them lie in the band.
    """

    n_pairs: int
    max_difference: float
    tie_eps: float
    n_in_band: int
    n_flips: int
    n_accepted: int

    @classmethod
    def of(cls, packed: npt.NDArray[np.floating], alone: npt.NDArray[np.floating], *, threshold: float) -> "TieBand":
        """Compare margins (n,) of the engine in rounds and of the reference.

        Raises:
            ValueError: there is no pair, or a margin is not finite.
        """
        ours, theirs = np.asarray(packed, np.float64), np.asarray(alone, np.float64)
        difference = np.abs(ours - theirs)
        if not difference.size or not np.isfinite(difference).all():
            raise ValueError("want at least one pair, and finite margins")
        cut, bound = margin_of(threshold), SAFETY * float(difference.max())
        is_flip, is_near = (ours >= cut) != (theirs >= cut), np.abs(ours - cut) <= bound
        return cls(
            n_pairs=len(ours),
            max_difference=float(difference.max()),
            tie_eps=bound,
            n_in_band=int(is_near.sum()),
            n_flips=int(is_flip.sum()),
            n_accepted=int((ours >= cut).sum()),
        )

    @property
    def share(self) -> float:
        """Share of the pairs in the band."""
        return self.n_in_band / self.n_pairs


def rounded_up(value: float) -> float:
    """Return a bound with two digits, never below the value: 1.523e-4 becomes 1.6e-4."""
    if value == 0.0:
        return 0.0
    exact = Decimal(value)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), rounding=ROUND_CEILING))
