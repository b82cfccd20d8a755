"""The two stages of the score processor: `TokenizeRows` and `ScoreRows` in the form that Ray's processors have."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from ray.llm._internal.batch.stages import StatefulStage
from ray.llm._internal.batch.stages.base import StatefulStageUDF

from mis_scoring.core.errors import DataError
from mis_scoring.core.readout import scores_of_margins
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.engine_client import score_tokens
from mis_scoring.ray_data.score import ScoreRows
from mis_scoring.ray_data.tokenize import TOKENIZED

Row = dict[str, Any]
_ERROR = "__inference_error__"  # Ray's; a row where it isn't empty passes by the later stages
_NOTHING = {"scores": None, "margins": None, "is_reference": None, "n_tokens": 0, "engine": None, "canary_epoch": None}


class TokenizeUDF(StatefulStageUDF):
    """`query` and `items` to `query_tokens` and `item_tokens`, encoded apart."""

    def __init__(self, *, spec: ScoreSpec, should_continue_on_error: bool, **columns: Any) -> None:
        super().__init__(**columns)
        self._tokenizer, self._goes_on = spec.tokenizer(), should_continue_on_error

    async def udf(self, rows: list[Row]) -> AsyncIterator[Row]:  # type: ignore[override]  # Ray's has no yield
        """Yield what is added to each row."""
        for row in rows:
            try:
                added = {
                    "query_tokens": self._tokenizer.encode_query(row["query"]),
                    "item_tokens": [self._tokenizer.encode_item(item) for item in row["items"]],
                    _ERROR: "",
                }
            except DataError as error:
                if not self._goes_on:
                    raise
                added = _NOTHING | {"query_tokens": None, "item_tokens": None, _ERROR: str(error)}
            yield added | {self.IDX_IN_BATCH_COLUMN: row[self.IDX_IN_BATCH_COLUMN]}


class ScoreUDF(StatefulStageUDF):
    """Tokens to `scores` with their margins, cost and lineage; on an engine of its own or on named ones."""

    def __init__(
        self,
        *,
        spec: ScoreSpec,
        engines: tuple[str, ...],
        request_timeout_s: float,
        should_continue_on_error: bool,
        **columns: Any,
    ) -> None:
        super().__init__(**columns)
        self._score = partial(score_tokens, names=engines) if engines else ScoreRows(spec, request_timeout_s)
        self._goes_on = should_continue_on_error

    async def udf(self, rows: list[Row]) -> AsyncIterator[Row]:  # type: ignore[override]  # Ray's has no yield
        """Yield what is added to each row."""
        staged = self._score(pa.Table.from_pylist([_tokenized(row) for row in rows], TOKENIZED)).to_pylist()
        for row, scored in zip(rows, staged, strict=True):
            if scored["error"] is not None and not self._goes_on:
                raise DataError(scored["error"])
            yield _added(scored) | {self.IDX_IN_BATCH_COLUMN: row[self.IDX_IN_BATCH_COLUMN]}


class TokenizeStage(StatefulStage):
    """See `TokenizeUDF`."""

    fn: type[StatefulStageUDF] = TokenizeUDF

    def get_required_input_keys(self) -> dict[str, str]:
        """Say what a row must have."""
        return {
            "query": "the text before every item, as the artifact's layout renders it",
            "items": "the texts to score, each alone with the query",
        }


class ScoreStage(StatefulStage):
    """See `ScoreUDF`."""

    fn: type[StatefulStageUDF] = ScoreUDF

    def get_required_input_keys(self) -> dict[str, str]:
        """Say what a row must have."""
        return {"query_tokens": "ids of the query", "item_tokens": "ids of each item"}


def _tokenized(row: Row) -> Row:
    """Return the row as the score stage of tables has it; what names a row there, its place does here."""
    items = [np.asarray(item).tolist() for item in row["item_tokens"]]
    places = [str(place) for place in range(len(items))]
    return {
        "member_id": str(row[StatefulStageUDF.IDX_IN_BATCH_COLUMN]),
        "item_ids": places,
        "item_hashes": places,
        "query_tokens": np.asarray(row["query_tokens"]).tolist(),
        "item_tokens": items,
    }


def _added(scored: Row) -> Row:
    lineage = {name: scored[name] for name in ("n_tokens", "engine", "canary_epoch")}
    if scored["error"] is not None:
        return _NOTHING | lineage | {_ERROR: scored["error"]}
    margins = {name: scored[name] for name in ("margins", "is_reference")}
    return margins | lineage | {"scores": scores_of_margins(np.asarray(margins["margins"])).tolist(), _ERROR: ""}
