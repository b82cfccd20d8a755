"""From texts to an answer: refuse what can't be scored, tokenize, wait for the engine, tell what it took."""

import time
from collections.abc import Sequence

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import EngineError
from mis_scoring.core.labels import TokenIds
from mis_scoring.core.readout import scores_of_margins
from mis_scoring.serving import scoring_pb2 as pb
from mis_scoring.serving.batcher import Work
from mis_scoring.serving.engine_queue import EngineQueue, Scored
from mis_scoring.serving.metrics import ServerMetrics
from mis_scoring.serving.request_faults import count_faults, length_faults, require_none
from mis_scoring.serving.tokenizer_pool import TokenizerPool
from mis_scoring.serving.tracing import Tracing


class ScoringPipeline:
    """The stages of a request, each with its time in the metrics and, with a collector, a span of its own."""

    def __init__(
        self,
        *,
        artifact: LabelerArtifact,
        max_items: int,
        tokenizers: TokenizerPool,
        engine: EngineQueue,
        metrics: ServerMetrics,
        tracing: Tracing,
    ) -> None:
        self._artifact, self._max_items = artifact, max_items
        self._tokenizers, self._engine = tokenizers, engine
        self._metrics, self._tracing = metrics, tracing

    async def encode_query(self, text: str) -> TokenIds:
        """Return the token ids of a query whose items come later.

        Raises:
            RefusedRequestError: INVALID_ARGUMENT; names its faults.
            EngineError: nothing can be scored now.
        """
        return (await self._encode(text, [], [], ()))[0]

    async def encode_items(self, query: TokenIds, texts: Sequence[str]) -> Sequence[TokenIds]:
        """Return the token ids of items of a query that was encoded before; see `encode_query`."""
        return (await self._encode(None, *self._counted(texts), query))[1]

    async def encode(self, query_text: str, texts: Sequence[str]) -> tuple[TokenIds, Sequence[TokenIds]]:
        """Return the token ids of a whole request; see `encode_query`."""
        return await self._encode(query_text, *self._counted(texts), ())

    async def answer(self, work: Work) -> pb.ScoreResponse:
        """Return the answer to a request once the engine has scored it.

        Raises:
            EngineError: the engine failed, or is gone.
            DataError: a score is missing.
        """
        scored: Scored = await work.done
        self._tell(work, scored)
        return pb.ScoreResponse(
            margins=scored.margins.tolist(),
            scores=scores_of_margins(scored.margins).tolist(),
            from_reference=scored.is_reference.tolist(),
            artifact_id=self._artifact.artifact_id,
            scorer_id=self._artifact.scorer_id,
            engine=self._engine.said["engine"],
            tokens=scored.n_tokens,
            tie_tokens=scored.tie_tokens,
        )

    def _counted(self, texts: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """Return the items to tokenize, none where they are too many, and what is wrong with their number."""
        faults = count_faults(len(texts), max_items=self._max_items)
        return ([] if faults else texts), faults

    async def _encode(
        self, query_text: str | None, texts: Sequence[str], faults: Sequence[str], query: TokenIds
    ) -> tuple[TokenIds, Sequence[TokenIds]]:
        if self._engine.refusal:
            raise EngineError(self._engine.refusal)
        started = time.time()
        encoded = await self._tokenizers.encode(query_text, texts)
        known = query if query_text is None else encoded.query
        too_long = length_faults(known, encoded.items, max_tokens=self._engine.said["max_tokens"])
        require_none([*faults, *encoded.faults, *too_long])
        self._stage("tokenize", started, time.time(), items=len(encoded.items))
        return known, encoded.items

    def _tell(self, work: Work, scored: Scored) -> None:
        n_items, n_ties = len(work.items), int(scored.is_reference.sum())
        self._metrics.labels.inc(n_items)
        self._metrics.reference_labels.inc(n_ties)
        self._metrics.tokens.labels("engine").inc(scored.n_tokens)
        self._metrics.tokens.labels("reference").inc(scored.tie_tokens)
        self._stage("wait", work.queued_at, scored.started, items=n_items)
        self._stage("forward", scored.started, scored.forwarded, items=n_items)
        self._stage("tie rule", scored.forwarded, scored.decided, items=n_ties)

    def _stage(self, name: str, started: float, ended: float, *, items: int) -> None:
        self._metrics.stage_s.labels(name).observe(max(0.0, ended - started))
        self._tracing.stage(name, started, ended, items=items)
