"""Where every token of a forward pass stands: all queries first, then all items, request by request. numpy alone.

Rows are filled up to a multiple of 16, and to 1,024 at least: below that cuBLAS picks products that sum in another
order (docs/prefill-engine.md), and a pair's bits would depend on its company. Padding rows belong to no request;
nothing reads them but the row-wise work.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mis_scoring.core.errors import DataError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.engines.requests import split_round

Ints = npt.NDArray[np.int32]
MIN_ROWS = 1_024
ROW_MULTIPLE = 16


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The largest forward.

    Attributes:
        max_tokens: of all its requests; max_items: of all of them; max_parts: requests.
        max_item_tokens: of one item; the tables of attention tiles grow with it.
    """

    max_tokens: int
    max_items: int
    max_parts: int
    max_item_tokens: int


@dataclass(frozen=True, kw_only=True)
class Part:
    """A request, or as many of its items as fit into one forward pass.

    Attributes:
        token_ids: the query's, then all items'.
        item_tokens: (n_items,), at least one token each.
        label_ids: YES, NO.
    """

    token_ids: Ints
    query_tokens: int
    item_tokens: Ints
    label_ids: tuple[int, int]

    @property
    def n_tokens(self) -> int:
        """Tokens that a forward computes for it."""
        return len(self.token_ids)

    @property
    def n_items(self) -> int:
        """Rows of logits."""
        return len(self.item_tokens)


def parts_of(query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens, limits: Limits) -> list[Part]:
    """Split a request, in order, into as few parts as their lengths allow; each computes the query again."""
    head = np.asarray(query, np.int32)
    parts = []
    for chunk in split_items(len(query), [len(item) for item in items], limits):
        chosen = items[chunk]
        parts.append(
            Part(
                token_ids=np.concatenate([head, *(np.asarray(item, np.int32) for item in chosen)]),
                query_tokens=len(query),
                item_tokens=np.asarray([len(item) for item in chosen], np.int32),
                label_ids=label_tokens.ids,
            )
        )
    return parts


def split_items(query_tokens: int, item_tokens: Sequence[int], limits: Limits) -> Iterator[slice]:
    """Yield the items of each part.

    Raises:
        DataError: an item does not fit into a forward with the query alone.
    """
    for chunk in split_round(query_tokens, item_tokens, max_request_tokens=limits.max_tokens):
        for start in range(chunk.start, chunk.stop, limits.max_items):
            yield slice(start, min(start + limits.max_items, chunk.stop))


def choose_parts(waiting: Sequence[Part], limits: Limits, *, token_budget: int) -> list[int]:
    """Return which of the waiting parts go into the next forward: the oldest, then whatever still fits, in order.

    One that is longer than the budget goes alone, so none waits for ever.
    """
    chosen: list[int] = []
    tokens = items = 0
    for place, part in enumerate(waiting):
        fits = tokens + part.n_tokens <= token_budget and items + part.n_items <= limits.max_items
        if not chosen or fits:
            chosen.append(place)
            tokens, items = tokens + part.n_tokens, items + part.n_items
        if len(chosen) == limits.max_parts or tokens >= token_budget:
            break
    return chosen


def padded_rows(n: int) -> int:
    """Return how many rows a product gets for n rows."""
    return max(MIN_ROWS, -(-n // ROW_MULTIPLE) * ROW_MULTIPLE)


@dataclass(frozen=True, kw_only=True)
class ForwardPlan:
    """A forward pass over the tokens of several parts, unpadded; R parts, N items, T tokens.

    Attributes:
        token_ids, positions: (T,); an item's positions go on where its query ends.
        segment_starts: (T,), the first token of a token's own query or item.
        query_starts: (R + 1,), places of the queries, which lie before all items.
        item_starts: (N + 1,), places of the items.
        part_items: (R + 1,), the first item of each part.
        label_ids: (N, 2).
    """

    token_ids: Ints
    positions: Ints
    segment_starts: Ints
    query_starts: Ints
    item_starts: Ints
    part_items: Ints
    label_ids: Ints

    @property
    def n_tokens(self) -> int:
        """Tokens of all parts."""
        return len(self.token_ids)

    @property
    def n_items(self) -> int:
        """Items of all parts."""
        return len(self.item_starts) - 1

    @property
    def n_rows(self) -> int:
        """Rows of every product over all tokens."""
        return padded_rows(self.n_tokens)

    @property
    def n_readout_rows(self) -> int:
        """Rows of every product over the items' last tokens."""
        return padded_rows(self.n_items)

    @property
    def waste(self) -> float:
        """The share of rows that are padding."""
        return 1.0 - self.n_tokens / self.n_rows

    @cached_property
    def readout_tokens(self) -> Ints:
        """Where each item's last token stands, (N,)."""
        return self.item_starts[1:] - 1

    @cached_property
    def item_parts(self) -> Ints:
        """The part of each item, (N,)."""
        return np.repeat(np.arange(len(self.part_items) - 1, dtype=np.int32), np.diff(self.part_items))

    def part_of_token(self, token: int) -> int:
        """Return whose token it is."""
        if token < self.query_starts[-1]:
            return int(np.searchsorted(self.query_starts, token, "right")) - 1
        return int(self.item_parts[np.searchsorted(self.item_starts, token, "right") - 1])


def plan_forward(parts: Sequence[Part]) -> ForwardPlan:
    """Lay out the tokens of some parts.

    Raises:
        DataError: a query or an item is empty.
    """
    query_tokens = np.asarray([part.query_tokens for part in parts], np.int32)
    item_tokens = np.concatenate([part.item_tokens for part in parts])
    if not (query_tokens > 0).all() or not (item_tokens > 0).all():
        raise DataError("a query or an item has no token: there is nothing to read out")
    n_items = np.asarray([part.n_items for part in parts])
    query_starts = _starts(query_tokens, 0)
    item_starts = _starts(item_tokens, int(query_starts[-1]))
    lengths = np.concatenate([query_tokens, item_tokens])
    segment_starts = np.repeat(np.concatenate([query_starts[:-1], item_starts[:-1]]), lengths)
    before = np.concatenate([np.zeros(len(parts), np.int32), np.repeat(query_tokens, n_items)])
    positions = np.arange(len(segment_starts), dtype=np.int32) - segment_starts + np.repeat(before, lengths)
    queries, items = ([part.token_ids[: part.query_tokens] for part in parts], [_items_of(part) for part in parts])
    return ForwardPlan(
        token_ids=np.concatenate([*queries, *items]),
        positions=positions,
        segment_starts=segment_starts,
        query_starts=query_starts,
        item_starts=item_starts,
        part_items=_starts(n_items, 0),
        label_ids=np.repeat(np.asarray([part.label_ids for part in parts], np.int32), n_items, axis=0),
    )


def _items_of(part: Part) -> Ints:
    return part.token_ids[part.query_tokens :]


def _starts(lengths: npt.NDArray[np.integer], first: int) -> Ints:
    return np.concatenate([[first], first + np.cumsum(lengths)]).astype(np.int32)
