"""Score the items of one query, with the tie rule: pairs near the threshold are decided by the reference."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.core.engine import Engine, ManyQueryEngine, QueryItems
from mis_scoring.core.errors import EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray, margins
from mis_scoring.core.tie import in_tie_band
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.engine_pair import EnginePair
from mis_scoring.engines.score_spec import ScoreSpec


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

    @classmethod
    def of(cls, spec: ScoreSpec, tokenizer: PromptTokenizer, engines: EnginePair) -> "PairScorer":
        """Return the scorer of a spec.

        Args:
            tokenizer: the spec's. engines: engine and reference, as `load_engine_pair` returns them.
        """
        engine, reference = engines
        return cls(
            engine=engine,
            reference=reference,
            label_tokens=spec.label_tokens(tokenizer),
            threshold=spec.threshold,
            tie_eps=spec.tie_eps,
        )

    def score(self, query: TokenIds, items: Sequence[TokenIds]) -> PairScores:
        """Return one margin an item.

        Raises:
            DataError: the request can't be scored, or a score is missing.
            EngineError: the engine failed, or did not return one row an item.
        """
        logits = self.engine.label_logits(query, items, self.label_tokens)
        return self.decide_ties(query, items, _margins(logits, len(items)))

    def engine_margins(self, requests: Sequence[QueryItems]) -> list[FloatArray]:
        """Return the engine's own margins of each request, in one pass where it can do that; `decide_ties` comes next.

        Raises:
            DataError, EngineError: as `score`, for all requests together.
        """
        if isinstance(self.engine, ManyQueryEngine):
            logits = self.engine.label_logits_of_many(requests, self.label_tokens)
        else:
            logits = [self.engine.label_logits(one.query, one.items, self.label_tokens) for one in requests]
        return [_margins(found, len(one.items)) for found, one in zip(logits, requests, strict=True)]

    def decide_ties(self, query: TokenIds, items: Sequence[TokenIds], engine_margins: FloatArray) -> PairScores:
        """Return the scores of a request: the reference's margin where the engine's is near the threshold."""
        scores = engine_margins.copy()
        ties = self._ties(scores)
        tied = [item for item, is_tie in zip(items, ties, strict=True) if is_tie]
        if tied:
            scores[ties] = _margins(self.reference.label_logits(query, tied, self.label_tokens), len(tied))
        return PairScores(
            margins=scores,
            is_reference=ties,
            n_tokens=self.engine.prefill_tokens(len(query), [len(item) for item in items]),
            tie_tokens=self.reference.prefill_tokens(len(query), [len(item) for item in tied]),
        )

    def _ties(self, scores: FloatArray) -> npt.NDArray[np.bool_]:
        eps = 0.0 if self.engine.batch_invariant else self.tie_eps
        return in_tie_band(scores, threshold=self.threshold, tie_eps=eps)


def _margins(label_logits: FloatArray, n_items: int) -> FloatArray:
    logits = np.asarray(label_logits, np.float32)
    if logits.shape != (n_items, 2):
        raise EngineError(f"the engine returned logits of shape {logits.shape} for {n_items} items")
    return margins(logits)
