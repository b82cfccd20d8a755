"""The cost model: prefill tokens of scoring a query's N items (paper, sections 4.2 and 4.3, Table 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mis_scoring.core.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Work:
    """What scoring one query's N items takes, items' own tokens left out: a column of Table 2.

    Attributes:
        n_requests: sequences that the engine schedules.
        least_query_tokens: query tokens prefilled when every cache entry is still there.
        most_query_tokens: query tokens prefilled when none is.
        is_decoding: whether answers are generated, on the order of N tokens of them.
    """

    n_requests: int
    least_query_tokens: int
    most_query_tokens: int
    is_decoding: bool = False


def table_2(query_tokens: int, n_items: int, *, items_per_prompt: int) -> Mapping[str, Work]:
    """Return the work of each method for the N items of one query.

    Args:
        items_per_prompt: g of packed generation.
    Source: arXiv 2610.36383, Table 2.
    """
    n_prompts = -(-n_items // items_per_prompt)

    def work(n_requests: int, least: int, most: int, *, is_decoding: bool = False) -> Work:
        return Work(
            n_requests=n_requests,
            least_query_tokens=least * query_tokens,
            most_query_tokens=most * query_tokens,
            is_decoding=is_decoding,
        )

    once = min(n_items, 1)  # nothing is sent for no item
    return {
        "packed_generation": work(n_prompts, n_prompts, n_prompts, is_decoding=True),
        "independent": work(n_items, n_items, n_items),
        "prefix_cache": work(n_items, once, n_items),
        "mis": work(once, once, once),
    }


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
