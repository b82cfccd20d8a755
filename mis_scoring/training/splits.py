"""Which members train, which validate and which test: decided by a digest of the member's id, before any pairing.

A pair of a training member is never validated on, and a member keeps its split when others come, go or change places.
The price: shares hold on average only, so a set of few members may leave a split empty.
"""

import hashlib
from dataclasses import dataclass

from mis_scoring.core.errors import DataError

TRAIN, VALIDATION, TEST = SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The share of the members that each split has on average."""

    train: float = 0.8
    validation: float = 0.1
    test: float = 0.1

    def __post_init__(self) -> None:
        """Refuse shares that are no division of the whole."""
        parts = (self.train, self.validation, self.test)
        if min(parts) <= 0 or abs(sum(parts) - 1.0) > 1e-9:
            raise DataError(f"shares are {parts}: want three positive numbers that add up to 1")


DEFAULT_SHARES = Shares()


def split_of(member_id: str, *, seed: int, shares: Shares = DEFAULT_SHARES) -> str:
    """Return the split of a member; it depends on the id, the seed and the shares alone."""
    place = int.from_bytes(hashlib.sha256(f"semlabel split {seed}/{member_id}".encode()).digest()[:8], "big") / 2**64
    if place < shares.train:
        return TRAIN
    return VALIDATION if place < shares.train + shares.validation else TEST
