"""What is wrong with a request, before anything is computed: every fault in one list, texts never quoted."""

from collections.abc import Sequence

from grpc import StatusCode

from mis_scoring.core.labels import TokenIds
from mis_scoring.serving.admission import RefusedRequestError

_N_LISTED = 20  # a status message travels in a header of some kilobytes


def count_faults(n_items: int, *, max_items: int) -> list[str]:
    """Return what is wrong with a number of items."""
    if n_items == 0:
        return ["there are no items"]
    return [f"there are {n_items} items, max {max_items}: split them, a score depends on its pair alone"] * (
        n_items > max_items
    )


def length_faults(query: TokenIds, items: Sequence[TokenIds], *, max_tokens: int) -> list[str]:
    """Return what does not fit into the context: the query, or an item behind it."""
    if len(query) >= max_tokens:
        return [f"the query is {len(query)} tokens, max {max_tokens} with an item"]
    return [
        f"item {row} makes a prompt of {len(query) + len(item)} tokens, max {max_tokens}"
        for row, item in enumerate(items)
        if len(query) + len(item) > max_tokens
    ]


def require_none(faults: Sequence[str]) -> None:
    """Refuse a request with faults.

    Raises:
        RefusedRequestError: INVALID_ARGUMENT; names them.
    """
    if faults:
        more = [f"and {len(faults) - _N_LISTED} more"] if len(faults) > _N_LISTED else []
        raise RefusedRequestError(StatusCode.INVALID_ARGUMENT, "bad_input", "; ".join([*faults[:_N_LISTED], *more]))


def require_artifact(asked: str, served: str) -> None:
    """Refuse a request for another artifact's scores.

    Raises:
        RefusedRequestError: FAILED_PRECONDITION; names both.
    """
    if asked != served:
        raise RefusedRequestError(
            StatusCode.FAILED_PRECONDITION,
            "other_artifact",
            f"artifact {asked!r} is asked for, {served!r} is served: pin the served one, or ask a server of yours",
        )
