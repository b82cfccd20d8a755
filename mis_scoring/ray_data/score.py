"""The scoring actor: one engine with its reference, and a canary at both ends of every batch.

A batch is a block of Ray Data, and an epoch of the canary: its rows leave this process only once the canary has passed
after them, so that no row of an open epoch is ever staged, and whatever dies loses the batch that it was at.
"""

import itertools
import logging
import os
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from mis_scoring.core.errors import DataError, EngineDeadError, EngineError
from mis_scoring.core.identity import canonical_json
from mis_scoring.engines.canary import Canary
from mis_scoring.engines.engine_pair import load_engine_pair
from mis_scoring.engines.pair_scores import PairScorer
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.staging import STAGED_SCORES, epoch_name

log = logging.getLogger(__name__)


class ScoreRows:
    """Scores token ids; one row of `STAGED_SCORES` a row. An `EngineError` ends the job, a `DataError` is a row.

    Several batches at once are for engines that take several requests at once: the canary of one then runs in the
    company of the next, and the device has no gap between them.

    An engine whose process is gone ends this one too, so that Ray starts both again, up to its bound of restarts.

    Raises:
        CanaryError: the engine is wrong from the start.
    """

    def __init__(self, spec: ScoreSpec, request_timeout_s: float) -> None:
        tokenizer = spec.tokenizer()
        self._scorer = PairScorer.of(spec, tokenizer, load_engine_pair(spec))
        self._timeout_s = request_timeout_s
        with _ended_after(request_timeout_s):
            self._canary = Canary(self._scorer.reference, self._scorer.label_tokens, item_suffix=tokenizer.item_suffix)
        self._source = {"engine": canonical_json(dict(self._scorer.engine.fingerprint)), "scorer_id": spec.scorer_id}
        self._id, self._epochs = uuid.uuid4().hex, itertools.count(1)
        self._failure: EngineError | None = None
        self._check_canary()  # opens the first epoch; the one that closes an epoch opens the next

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Return the rows of `STAGED_SCORES`, in their order.

        Raises:
            EngineError: the engine or its canary failed, now or before: it is not asked again.
        """
        self.require_sound()
        epoch = {"canary_epoch": epoch_name(self._id, next(self._epochs))}
        try:
            rows = [row | epoch for row in self._rows(batch.to_pylist())]
            self._check_canary()
        except EngineDeadError as failure:
            log.critical("%s", failure)
            os._exit(1)
        except EngineError as failure:
            self._failure = failure
            raise
        return pa.Table.from_pylist(rows, schema=STAGED_SCORES)

    def require_sound(self) -> None:
        """Raise what went wrong with this engine, if anything did."""
        if self._failure is not None:
            raise self._failure

    def _check_canary(self) -> None:
        with _ended_after(self._timeout_s):
            self._canary.check(self._scorer.engine)

    def _rows(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        n_at_once = self._scorer.engine.n_concurrent
        if n_at_once == 1:
            return [self._row(row) for row in rows]
        with ThreadPoolExecutor(n_at_once) as pool:
            try:
                return list(pool.map(self._row, rows))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)  # after a failure nothing more is asked

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
