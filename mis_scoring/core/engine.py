"""What every engine does, whatever it runs on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray


class Engine(Protocol):
    """Scores the items of one query in one prefill pass."""

    batch_invariant: bool
    """Whether a pair has the same bits whatever it is packed with; such an engine needs no tie rule."""

    rounding: float
    """How far packing may move a margin by rounding alone: what the canary tolerates."""

    n_concurrent: int
    """How many calls of `label_logits` it takes at once, from threads; 1 where a second would only wait."""

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Where and with what scores are computed: engine, device, library versions, dtype."""
        ...

    @property
    def max_tokens(self) -> int:
        """The longest single-item prompt that the model takes, Lq + max Li."""
        ...

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        """Return (n_items, 2) float32, columns YES, NO; row i belongs to items[i].

        Raises:
            EngineError: the engine failed.
            DataError: the request can't be scored (an empty item, a prompt longer than `max_tokens`).
        """
        ...

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        """Return the tokens that `label_logits` computes for a request: what it costs, splits and padding included."""
        ...


QueryKeys = dict[int, Any]
"""A query's keys and values by layer, in the engine's own form; empty until a pass has computed them."""


@dataclass(frozen=True, kw_only=True)
class QueryItems:
    """One query and its items, as one of several in a forward pass.

    Attributes:
        items: may be empty: the query is prefilled alone.
        query_keys: where the query's keys stay. Empty: this pass fills it. Filled: the query is not computed again.
            None: they are not kept.
    """

    query: TokenIds
    items: Sequence[TokenIds]
    query_keys: QueryKeys | None = None


@runtime_checkable
class ManyQueryEngine(Engine, Protocol):
    """An engine that computes several queries in one pass, and a query before its items."""

    def label_logits_of_many(self, requests: Sequence[QueryItems], label_tokens: LabelTokens) -> Sequence[FloatArray]:
        """Return what `label_logits` returns, of each request.

        Raises:
            EngineError: the engine failed; no `query_keys` is half filled.
            DataError: a request can't be scored.
        """
        ...
