"""The cost model: prefill tokens of scoring a query's N items (paper, sections 4.2 and 4.3, Table 2)."""

from collections.abc import Sequence

from mis_scoring.core.errors import DataError


def mis_tokens(query_tokens: int, item_tokens: Sequence[int]) -> int:
    """Return the tokens of one packed request: Lq + sum(Li). Rescoring n of N items costs the query again."""
    return query_tokens + sum(item_tokens) if item_tokens else 0


def independent_tokens(query_tokens: int, item_tokens: Sequence[int]) -> int:
    """Return the tokens of one request an item without reuse: N * Lq + sum(Li)."""
    return query_tokens * len(item_tokens) + sum(item_tokens)


def packed_generation_tokens(query_tokens: int, item_tokens: Sequence[int], *, items_per_prompt: int) -> int:
    """Return the input tokens of ceil(N / g) prompts: ceil(N / g) * Lq + sum(Li)."""
    return -(-len(item_tokens) // items_per_prompt) * query_tokens + sum(item_tokens)


def reduction_factor(query_tokens: int, item_tokens: Sequence[int]) -> float:
    """Return R(N), the prefill tokens of independent scoring over those of MIS; it tends to 1 + rho for large N.

    Raises:
        DataError: there is no item.
    Source: arXiv 2610.36383, equation 5.
    """
    if not item_tokens:
        raise DataError("R(N) needs at least one item")
    return independent_tokens(query_tokens, item_tokens) / mis_tokens(query_tokens, item_tokens)
