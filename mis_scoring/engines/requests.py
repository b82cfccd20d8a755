"""What any engine refuses before it computes, and how a round that is too long for one request is split."""

from collections.abc import Sequence

from mis_scoring.core.errors import DataError
from mis_scoring.core.labels import LabelTokens, TokenIds


def require_scorable(
    query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens, *, max_tokens: int, vocab_size: int
) -> None:
    """Refuse a request that has no scores.

    Args:
        max_tokens: the longest single-item prompt, Lq + max Li.
    Raises:
        DataError: a prompt is empty, longer than `max_tokens`, or has an id outside the vocabulary; all are named.
    """

    def foreign(name: str, token_ids: TokenIds) -> list[str]:
        is_known = min(token_ids) >= 0 and max(token_ids) < vocab_size
        return [] if is_known else [f"{name} has an id outside the vocabulary of {vocab_size}"]

    faults = ["the query is empty"] if len(query) == 0 else foreign("the query", query)
    for row, item in enumerate(items):
        if len(item) == 0:
            faults.append(f"item {row} is empty")
        elif len(query) + len(item) > max_tokens:
            faults.append(f"item {row} makes a prompt of {len(query) + len(item)} tokens, max {max_tokens}")
        else:
            faults += foreign(f"item {row}", item)
    faults += foreign("label_tokens", label_tokens.ids)
    if faults:
        raise DataError(f"the request cannot be scored: {'; '.join(faults)}")


def split_round(
    query_tokens: int, item_tokens: Sequence[int], *, max_request_tokens: int, extra_per_item: int = 0
) -> list[slice]:
    """Split a round's items, in order, into as few requests as their lengths allow; each pays for the query again.

    Args:
        max_request_tokens: the longest packed request, whatever `extra_per_item` adds included.
        extra_per_item: tokens that an engine puts after the query and after every item, a delimiter say.
    Raises:
        DataError: an item does not fit into a request with the query alone.
    """
    slices: list[slice] = []
    start, used = 0, query_tokens + extra_per_item
    for row, length in enumerate(item_tokens):
        alone = query_tokens + length + 2 * extra_per_item
        if alone > max_request_tokens:
            raise DataError(f"item {row} makes a request of {alone} tokens, max_request_tokens is {max_request_tokens}")
        if used + length + extra_per_item > max_request_tokens:
            slices.append(slice(start, row))
            start, used = row, query_tokens + extra_per_item
        used += length + extra_per_item
    return [*slices, slice(start, len(item_tokens))] if item_tokens else []
