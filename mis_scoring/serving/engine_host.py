"""The engine in a process of its own: `python -m mis_scoring.serving.engine_host SPEC OPTIONS ANSWERS`.

Engine, reference, tie rule and canary are those of the batch stage, from the same spec.
"""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mis_scoring.core.engine import ManyQueryEngine, QueryItems
from mis_scoring.core.errors import DataError, EngineDeadError, EngineError
from mis_scoring.core.identity import canonical_json
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import CanaryError
from mis_scoring.engines.engine_pair import load_engine_pair
from mis_scoring.engines.pair_scores import PairScorer, PairScores
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving.canary_watch import CanaryWatch
from mis_scoring.serving.heap import CollectorPauses, freeze_heap
from mis_scoring.serving.host_loop import Message, run_host
from mis_scoring.serving.prefilled import PrefilledQueries


@dataclass(frozen=True, kw_only=True)
class HostOptions:
    """See `ServerSettings`."""

    canary_every: int
    n_prefilled: int
    freeze_heap: bool


class EngineHost:
    """Scores the requests of a forward; answers with scores, with what is wrong, or not at all once its canary failed.

    Raises:
        CanaryError: the engine is wrong from the start; see `ready`.
    """

    def __init__(self, spec: ScoreSpec, options: HostOptions) -> None:
        tokenizer = spec.tokenizer()
        self._scorer = PairScorer.of(spec, tokenizer, load_engine_pair(spec))
        self.n_concurrent = self._scorer.engine.n_concurrent
        self._prefilled = PrefilledQueries(options.n_prefilled)
        self._canary = CanaryWatch(self._scorer, item_suffix=tokenizer.item_suffix, every=options.canary_every)
        self._canary.check()
        if options.freeze_heap:
            freeze_heap()
        self._pauses = CollectorPauses()

    def ready(self) -> Message:
        """Say what the engine takes, and where it computes; or that its canary failed."""
        engine = self._scorer.engine
        return {
            "canary": str(self._canary.failure or ""),
            "engine": canonical_json(dict(engine.fingerprint)),
            "max_tokens": engine.max_tokens,
            "n_concurrent": engine.n_concurrent,
            "takes_many": isinstance(engine, ManyQueryEngine),
        }

    def answer(self, request: Message) -> Message:
        """Score `requests` (query, items, stream), or forget the queries of the streams in `release`."""
        if "release" in request:
            self._prefilled.release(request["release"])
            return {"n_prefilled": len(self._prefilled)}
        try:
            self._canary.require_passed()
            scored = self._score(request["requests"])
            return scored | {"n_prefilled": len(self._prefilled), "pauses_s": self._pauses.take()}
        except EngineDeadError:
            raise
        except CanaryError as error:
            return {"canary": str(error)}
        except EngineError as error:
            self._canary.make_due()
            return {"error": str(error)}

    def _score(self, asked: Sequence[Message]) -> Message:
        started = time.time()
        requests = [self._prefilled.request(one["query"], one["items"], one.get("stream")) for one in asked]
        n_reused = [len(one.query) if one.query_keys else 0 for one in requests]
        found = self._margins(requests)
        forwarded = time.time()
        scores = [
            {"fault": str(margins)} if isinstance(margins, DataError) else self._decided(request, margins, reused)
            for request, margins, reused in zip(requests, found, n_reused, strict=True)
        ]
        decided = time.time()
        self._canary.count_forward()
        return {"scores": scores, "times": [started, forwarded, decided]}

    def _margins(self, requests: Sequence[QueryItems]) -> "list[FloatArray | DataError]":
        """Return what each request gives; one that can't be scored fails alone."""
        try:
            return list(self._scorer.engine_margins(requests))
        except DataError as error:
            if len(requests) == 1:
                return [error]
            return [found for one in requests for found in self._margins([one])]

    def _decided(self, request: QueryItems, margins: FloatArray, n_reused: int) -> dict[str, Any]:
        scores: PairScores = self._scorer.decide_ties(request.query, request.items, margins)
        n_tokens = scores.n_tokens - n_reused if request.items else len(request.query)
        return {
            "margins": scores.margins.tolist(),
            "is_reference": scores.is_reference.tolist(),
            "n_tokens": n_tokens,
            "tie_tokens": scores.tie_tokens,
        }


if __name__ == "__main__":
    run_host(
        lambda: EngineHost(ScoreSpec.from_json(sys.argv[1]), HostOptions(**json.loads(sys.argv[2]))), int(sys.argv[3])
    )
