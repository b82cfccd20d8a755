"""An engine in this process as the scorer of micro-batches, watched by the canary."""

from collections.abc import Sequence
from pathlib import Path

from jobs.pins import Pins
from jobs.score_spec import score_spec
from jobs.settings import Settings
from jobs.updates.scorer import PairRequest, ScoredPairs
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError, EngineError
from mis_scoring.core.identity import canonical_json
from mis_scoring.engines.canary import Canary
from mis_scoring.engines.engine_pair import load_engine_pair
from mis_scoring.engines.pair_scores import PairScorer


class InProcessScorer:
    """The engine of the settings with its reference.

    Raises:
        CanaryError: the engine is wrong from the start.
    """

    def __init__(self, settings: Settings, pins: Pins, artifact: LabelerArtifact) -> None:
        spec = score_spec(settings, artifact, Path(pins.artifact_folder), engine=pins.engine)
        self._tokenizer = spec.tokenizer()
        self._scorer = PairScorer.of(spec, self._tokenizer, load_engine_pair(spec))
        self._engine = canonical_json(dict(self._scorer.engine.fingerprint))
        suffix = self._tokenizer.item_suffix
        self._canary = Canary(self._scorer.reference, self._scorer.label_tokens, item_suffix=suffix)
        try:
            self._canary.check(self._scorer.engine)
        except EngineError:
            self.close()
            raise

    def score(self, requests: Sequence[PairRequest]) -> list[ScoredPairs]:
        """Return one answer a request; a request that can't be scored has an error in place of margins.

        Raises:
            EngineError: the engine failed, or the canary after it did.
        """
        found = [self._score_one(request) for request in requests]
        self._canary.check(self._scorer.engine)
        return found

    def close(self) -> None:
        """End what the engine has of its own: processes, threads, memory of a device."""
        for engine in (self._scorer.engine, self._scorer.reference):
            if (close := getattr(engine, "close", None)) is not None:
                close()

    def _score_one(self, request: PairRequest) -> ScoredPairs:
        try:
            query = self._tokenizer.encode_query(request.query_text)
            items = [self._tokenizer.encode_item(text) for text in request.item_texts]
            scores = self._scorer.score(query, items)
        except DataError as error:
            return ScoredPairs.failed(request, self._engine, str(error))
        if len(scores.margins) != len(items):
            raise EngineError(f"{len(scores.margins)} scores for {len(items)} items of one member")
        return ScoredPairs(
            engine=self._engine,
            margins=tuple(scores.margins.tolist()),
            is_reference=tuple(scores.is_reference.tolist()),
            n_tokens=scores.n_tokens,
            tie_tokens=scores.tie_tokens,
        )
