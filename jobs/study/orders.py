"""Orders in which a member's items are asked, and how many labels change with the order.

"Consistency rate is measured as the percentage of qualification labels that stay the same when a member's
qualifications are randomly reordered and regrouped during evaluation, with the profile and qualification text held
fixed"; the inconsistency rate is "the share of labels that change across orderings" (arXiv 2610.36383, section 6.2).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Decisions = npt.NDArray[np.int8]
YES, NO, NO_ANSWER = 1, 0, -1
GROUP_SIZES = (200, 50, 100, 20)  # items packed together by the scorer, one an order


@dataclass(frozen=True, kw_only=True)
class Order:
    """One order of every member's candidates.

    Attributes:
        places: one permutation a member.
        group_size: items that the scorer packs together in this order; packed generation always takes g.
    """

    places: Sequence[Sequence[int]]
    group_size: int


def orders_of(n_candidates: Sequence[int], *, n_orders: int, seed: int) -> list[Order]:
    """Return the rank order first, then seeded random ones, each grouped otherwise."""
    orders = [Order(places=[list(range(n)) for n in n_candidates], group_size=GROUP_SIZES[0])]
    for number in range(1, n_orders):
        rng = random.Random(f"semlabel order {seed}/{number}")
        places = [rng.sample(range(n), n) for n in n_candidates]
        orders.append(Order(places=places, group_size=GROUP_SIZES[number % len(GROUP_SIZES)]))
    return orders


def inconsistency(decisions: Sequence[Decisions]) -> dict[str, float]:
    """Return which share of labels changes.

    Args:
        decisions: one (n,) array an order, in candidate order; no answer differs from any answer.
    Returns:
        `inconsistency`: against the first order, mean over the others; `any_change`: labels that are not the same
        in all orders; `n_labels`, `n_orders`.
    """
    table = np.stack(decisions)
    changed = table[1:] != table[0]
    return {
        "inconsistency": float(changed.mean()),
        "any_change": float(changed.any(axis=0).mean()),
        "n_changed_any": int(changed.any(axis=0).sum()),
        "n_labels": int(table.shape[1]),
        "n_orders": int(table.shape[0]),
    }
