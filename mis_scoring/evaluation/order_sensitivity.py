"""Orders and groups in which members' candidates are asked, and which labels change with them: none should.

"Consistency rate is measured as the percentage of qualification labels that stay the same when a member's
qualifications are randomly reordered and regrouped during evaluation, with the profile and qualification text held
fixed"; the inconsistency rate is "the share of labels that change across orderings" (arXiv 2610.36383, section 6.2).
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class Order:
    """One order of every member's candidates.

    Attributes:
        places: one permutation of the candidates' places a member.
        group_size: candidates asked together.
    """

    places: Sequence[Sequence[int]]
    group_size: int

    def groups(self) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield a member's number and the places that are asked together, in the order of asking."""
        for member, places in enumerate(self.places):
            for start in range(0, len(places), self.group_size):
                yield member, places[start : start + self.group_size]


def orders_of(n_candidates: Sequence[int], *, group_sizes: Sequence[int], seed: int) -> list[Order]:
    """Return an order a group size: the rank order first, then seeded random ones."""
    orders = [Order(places=[range(n) for n in n_candidates], group_size=group_sizes[0])]
    for number, size in enumerate(group_sizes[1:], start=1):
        rng = random.Random(f"semlabel order {seed}/{number}")
        orders.append(Order(places=[rng.sample(range(n), n) for n in n_candidates], group_size=size))
    return orders


@dataclass(frozen=True, kw_only=True)
class OrderChanges:
    """What reordering and regrouping did to labels.

    Attributes:
        n_changed: labels that are not the same in all orders.
        inconsistency: share of labels that differ from the first order's, mean over the others.
    """

    n_pairs: int
    n_orders: int
    n_changed: int
    inconsistency: float

    @classmethod
    def of(cls, decisions: Sequence[npt.NDArray[np.generic]]) -> "OrderChanges":
        """Compare decisions: one (n_pairs,) array an order, in candidate order."""
        table = np.stack(decisions)
        changed = table[1:] != table[0]
        return cls(
            n_pairs=table.shape[1],
            n_orders=table.shape[0],
            n_changed=int(changed.any(axis=0).sum()),
            inconsistency=float(changed.mean()) if changed.size else 0.0,
        )

    @property
    def changed_share(self) -> float:
        """Share of the pairs whose label changed in any order."""
        return self.n_changed / self.n_pairs if self.n_pairs else float("nan")
