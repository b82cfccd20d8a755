"""How many members of a run go on past their stop, so that it is known what stopping costs."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SampleRule:
    """The size of the sample.

    Attributes:
        share: of the members in scope; 0 draws none.
        at_least: members, where the share of them would be fewer.
        from_members: a run with fewer in scope draws none, since the least sample would be a large part of its work.
    """

    share: float
    at_least: int
    from_members: int

    def size(self, n_in_scope: int) -> int:
        """Return how many members are drawn; never more than there are."""
        if self.share == 0.0 or n_in_scope < self.from_members:
            return 0
        by_share = math.ceil(round(self.share * n_in_scope, 6))
        return min(n_in_scope, max(self.at_least, by_share))
