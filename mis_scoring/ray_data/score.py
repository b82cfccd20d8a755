"""The scoring actor: one engine with its reference, checked by the canary before the first score is given out."""

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from mis_scoring.core.errors import DataError, EngineError
from mis_scoring.core.identity import canonical_json
from mis_scoring.ray_data.engine_pair import load_engine_pair
from mis_scoring.ray_data.pair_scores import PairScorer
from mis_scoring.ray_data.spec import ScoreSpec
from mis_scoring.ray_data.staging import STAGED_SCORES


class ScoreRows:
    """Scores token ids; one row of `STAGED_SCORES` a row. An `EngineError` ends the job, a `DataError` is a row."""

    def __init__(self, spec: ScoreSpec, request_timeout_s: float) -> None:
        from mis_scoring.engines.canary import check_canary

        engine, reference = load_engine_pair(spec)
        label_tokens = spec.label_tokens(spec.tokenizer())
        check_canary(engine, reference, label_tokens)
        self._scorer = PairScorer(
            engine=engine,
            reference=reference,
            label_tokens=label_tokens,
            threshold=spec.threshold,
            tie_eps=spec.tie_eps,
        )
        self._timeout_s = request_timeout_s
        self._source = {
            "engine": canonical_json(dict(engine.fingerprint)),
            "canary_epoch": uuid.uuid4().hex,
            "scorer_id": spec.scorer_id,
        }

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Return the rows of `STAGED_SCORES`, in their order."""
        return pa.Table.from_pylist([self._row(row) for row in batch.to_pylist()], schema=STAGED_SCORES)

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        kept = {name: row[name] for name in ("member_id", "query_hash", "item_ids", "item_hashes", "error")}
        return kept | self._source | (_failed(row["error"]) if row["error"] is not None else self._scores(row))

    def _scores(self, row: dict[str, Any]) -> dict[str, Any]:
        try:
            with _ended_after(self._timeout_s):
                scores = self._scorer.score(row["query_tokens"], row["item_tokens"])
        except DataError as error:
            return _failed(str(error))
        if not len(scores.margins) == len(row["item_ids"]) == len(row["item_hashes"]):
            raise EngineError(f"{len(scores.margins)} scores for {len(row['item_ids'])} items of one member")
        return {
            "margins": scores.margins.tolist(),
            "is_reference": scores.is_reference.tolist(),
            "n_tokens": scores.n_tokens,
            "tie_tokens": scores.tie_tokens,
        }


def _failed(error: str) -> dict[str, Any]:
    return {"error": error, "margins": None, "is_reference": None, "n_tokens": 0, "tie_tokens": 0}


@contextmanager
def _ended_after(timeout_s: float) -> Iterator[None]:
    """End this process when the block takes longer; Ray then starts another, up to its bound of restarts."""
    timer = threading.Timer(timeout_s, os._exit, (1,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
