"""The scoring actor with an engine that takes several requests at once, and with one whose process is gone."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mis_scoring.core.errors import EngineDeadError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import canary_pairs
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data import score
from mis_scoring.ray_data.score import ScoreRows
from mis_scoring.ray_data.tokenize import TOKENIZED
from tests.ray.fake_engines import FakeEngine
from tests.ray.round_tables import write_artifact

N_ROWS = 6


class Together(FakeEngine):
    """Answers a request only once two more are there."""

    def __init__(self) -> None:
        super().__init__("together")
        self.n_concurrent = 3
        self.barrier = threading.Barrier(3, timeout=30)

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if list(query) != list(canary_pairs().query):
            self.barrier.wait()
        return super().label_logits(query, items, label_tokens)


class Gone(FakeEngine):
    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        if list(query) != list(canary_pairs().query):
            raise EngineDeadError("the process of engine 'gone' ended")
        return super().label_logits(query, items, label_tokens)


class ExitedError(BaseException):
    """Stands in for the end of the process."""


def batch() -> pa.Table:
    rows: list[dict[str, Any]] = [
        {"member_id": f"m{n}", "query_hash": "q", "item_ids": ["a", "b"], "item_hashes": ["a", "b"]}
        | {"query_tokens": [n, 1, 2], "item_tokens": [[3, n], [4]]}
        for n in range(N_ROWS)
    ]
    return pa.Table.from_pylist(rows, TOKENIZED)


def rows_of(engine: FakeEngine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ScoreRows:
    monkeypatch.setattr(score, "load_engine_pair", lambda _: (engine, FakeEngine("reference")))
    return ScoreRows(ScoreSpec.of(write_artifact(folder), folder, engine="given by the test"), 60.0)


def test_an_engine_that_takes_several_requests_gets_them_and_rows_keep_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Together()
    scored = rows_of(engine, tmp_path / "artifact", monkeypatch)(batch())
    assert scored["member_id"].to_pylist() == [f"m{n}" for n in range(N_ROWS)]
    expected = [[engine.margin([n, 1, 2], item) for item in ([3, n], [4])] for n in range(N_ROWS)]
    assert scored["margins"].to_pylist() == expected


def test_two_batches_at_once_are_epochs_of_their_own_and_share_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Together()
    engine.n_concurrent, engine.barrier = 1, threading.Barrier(2, timeout=30)
    score_rows = rows_of(engine, tmp_path / "artifact", monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        scored = list(pool.map(score_rows, [batch(), batch()]))
    epochs = [set(rows["canary_epoch"].to_pylist()) for rows in scored]
    assert [len(names) for names in epochs] == [1, 1] and epochs[0] != epochs[1]
    assert scored[0]["margins"] == scored[1]["margins"]


def test_an_engine_whose_process_is_gone_ends_the_actor_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(code: int) -> None:
        raise ExitedError(code)

    monkeypatch.setattr("os._exit", leave)
    score_rows = rows_of(Gone("gone"), tmp_path / "artifact", monkeypatch)
    with pytest.raises(ExitedError) as ended:
        score_rows(batch())
    assert ended.value.args == (1,)
