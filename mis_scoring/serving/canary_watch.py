"""The canary of a server: at the start, every so many forwards, and after a forward that failed.

Between two canaries answers have left already: a failure means that those since the last one may be wrong, so it ends
the answering for good and is told (docs/serving.md says how their judgments are revoked).
"""

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from mis_scoring.core.engine import Engine, ManyQueryEngine, QueryItems, QueryKeys
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import Canary, CanaryError, CanaryPairs
from mis_scoring.engines.pair_scores import PairScorer


class CanaryWatch:
    """Counts forwards and checks the engine when it is due, in both forms that it serves.

    Attributes:
        failure: what went wrong; None while nothing did.
    """

    def __init__(self, scorer: PairScorer, *, item_suffix: TokenIds, every: int) -> None:
        self._scorer, self._every = scorer, every
        self._canary = Canary(scorer.reference, scorer.label_tokens, item_suffix=item_suffix)
        self._lock = threading.Lock()
        self._n_forwards = 0
        self.failure: CanaryError | None = None

    def count_forward(self) -> None:
        """Count a forward; check, where one is due.

        Raises:
            CanaryError: the engine is wrong, so the forward's own scores must not be answered.
        """
        with self._lock:
            self._n_forwards += 1
            is_due = self._n_forwards >= self._every
        if is_due:
            self.check()
            self.require_passed()

    def require_passed(self) -> None:
        """Raise what went wrong, if anything did."""
        if self.failure is not None:
            raise self.failure

    def make_due(self) -> None:
        """Check after the next forward."""
        with self._lock:
            self._n_forwards = self._every

    def check(self) -> None:
        """Score the known pairs; what is wrong stays in `failure`."""
        scorer = self._scorer
        forms: list[Engine] = [scorer.engine]
        if isinstance(scorer.engine, ManyQueryEngine):
            forms.append(_InCompany(scorer.engine, self._canary.pairs))
        try:
            for form in forms:
                self._canary.check(form)
        except CanaryError as error:
            self.failure = error
        with self._lock:
            self._n_forwards = 0


class _InCompany:
    """An engine as a busy server uses it: the query in one forward, its items in the next, a stranger in both."""

    def __init__(self, engine: ManyQueryEngine, pairs: CanaryPairs) -> None:
        self._engine = engine
        self._stranger = QueryItems(query=pairs.poison, items=[pairs.poison])
        self.batch_invariant, self.rounding, self.n_concurrent = engine.batch_invariant, engine.rounding, 1

    @property
    def fingerprint(self) -> Mapping[str, str]:
        return self._engine.fingerprint

    @property
    def max_tokens(self) -> int:
        return self._engine.max_tokens

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        keys: QueryKeys = {}
        for part in ((), items):
            asked = [self._stranger, QueryItems(query=query, items=part, query_keys=keys)]
            found = self._engine.label_logits_of_many(asked, label_tokens)
        return np.asarray(found[1], np.float32)

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        return self._engine.prefill_tokens(query_tokens, item_tokens)
