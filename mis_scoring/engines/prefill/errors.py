"""What went wrong inside a forward, by name."""

import numpy as np

from mis_scoring.core.errors import EngineError
from mis_scoring.engines.prefill.plan import ForwardPlan, Ints
from mis_scoring.engines.prefill.rows import NOTHING_WRONG, is_over_items, name_of_check


class NonFiniteError(EngineError):
    """A forward has a value that is not finite; none of its scores is given out, since it would spread to neighbours.

    Attributes:
        place: the first check that saw it, as `layer 4, its keys`.
        part: the request of the lowest such row, by its place in the forward.
    """

    def __init__(self, place: str, part: int, n_parts: int) -> None:
        self.place, self.part = place, part
        super().__init__(
            f"a value is not finite in {place}: request {part + 1} of {n_parts} in this forward; none of them is scored"
        )


def require_finite(lowest_rows: Ints, plan: ForwardPlan, n_layers: int) -> None:
    """Raise where a check of a forward saw something.

    Args:
        lowest_rows: (n_checks,), see `Alarm`.
    Raises:
        NonFiniteError: names the first such check and a request.
    """
    seen = np.flatnonzero(lowest_rows != NOTHING_WRONG)
    if seen.size:
        check, row = int(seen[0]), int(lowest_rows[seen[0]])
        part = int(plan.item_parts[row]) if is_over_items(check, n_layers) else plan.part_of_token(row)
        raise NonFiniteError(name_of_check(check, n_layers), part, len(plan.part_items) - 1)
