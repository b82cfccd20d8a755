"""Score the items of one query, with the tie rule: pairs near the threshold are decided by the reference."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.core.engine import Engine
from mis_scoring.core.errors import EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray, margins
from mis_scoring.core.tie import in_tie_band


@dataclass(frozen=True, kw_only=True)
class PairScores:
    """The scores of one query's items, in their order.

    Attributes:
        margins: (n_items,) float32, finite.
        is_reference: (n_items,), which pairs the reference decided.
        n_tokens: that the engine computed. `tie_tokens`: the reference, which reads the query once more for all ties.
    """

    margins: FloatArray
    is_reference: npt.NDArray[np.bool_]
    n_tokens: int
    tie_tokens: int


@dataclass(frozen=True, kw_only=True)
class PairScorer:
    """An engine, the reference of its tie rule, and what both read out."""

    engine: Engine
    reference: Engine
    label_tokens: LabelTokens
    threshold: float
    tie_eps: float

    def score(self, query: TokenIds, items: Sequence[TokenIds]) -> PairScores:
        """Return one margin an item.

        Raises:
            DataError: the request can't be scored, or a score is missing.
            EngineError: the engine failed, or did not return one row an item.
        """
        scores = self._margins(self.engine, query, items)
        ties = self._ties(scores)
        tied = [item for item, is_tie in zip(items, ties, strict=True) if is_tie]
        if tied:
            scores[ties] = self._margins(self.reference, query, tied)
        return PairScores(
            margins=scores,
            is_reference=ties,
            n_tokens=self.engine.prefill_tokens(len(query), [len(item) for item in items]),
            tie_tokens=self.reference.prefill_tokens(len(query), [len(item) for item in tied]),
        )

    def _ties(self, scores: FloatArray) -> npt.NDArray[np.bool_]:
        eps = 0.0 if self.engine.batch_invariant else self.tie_eps
        return in_tie_band(scores, threshold=self.threshold, tie_eps=eps)

    def _margins(self, engine: Engine, query: TokenIds, items: Sequence[TokenIds]) -> FloatArray:
        logits = np.asarray(engine.label_logits(query, items, self.label_tokens), np.float32)
        if logits.shape != (len(items), 2):
            raise EngineError(f"the engine returned logits of shape {logits.shape} for {len(items)} items")
        return margins(logits)
