"""An engine that turns wrong while it scores: nothing of the batch in which it does is given out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mis_scoring.core.engine import Engine
from mis_scoring.core.errors import EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import CanaryError, canary_pairs
from mis_scoring.engines.reference import ReferenceEngine
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.engines.single import SingleItemEngine
from mis_scoring.ray_data import score
from mis_scoring.ray_data.score import ScoreRows
from mis_scoring.ray_data.tokenize import TOKENIZED
from tests.ray.round_tables import write_artifact
from tests.unit.conftest import draw_request
from tests.unit.test_engine_mutations import WRONG

ROWS_A_BATCH = 2


class AllScoresEqual(SingleItemEngine):
    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        return np.ones((len(items), 2), np.float32)


class TurnsWrong:
    """A right engine for so many requests, those of the canary aside, and a wrong one from then on."""

    batch_invariant = False

    def __init__(self, right: Engine, wrong: Engine, *, after: int) -> None:
        self.right, self.wrong, self.n_left = right, wrong, after
        self.fingerprint = {"engine": "turns wrong"}
        self.rounding, self.n_concurrent = right.rounding, 1
        self.prefill_tokens = right.prefill_tokens

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        self.n_left -= list(query) != list(canary_pairs().query)
        return (self.right if self.n_left >= 0 else self.wrong).label_logits(query, items, label_tokens)


def batch(seed: int) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for number in range(ROWS_A_BATCH):
        query, items = draw_request(seed * 10 + number, (4, 9, 2))
        names = [f"item {place}" for place in range(len(items))]
        rows.append({"member_id": f"m{seed}-{number}", "query_hash": "q", "item_ids": names, "item_hashes": names})
        rows[-1] |= {"query_tokens": query, "item_tokens": items}
    return pa.Table.from_pylist(rows, TOKENIZED)


@pytest.fixture
def spec(tmp_path: Path) -> ScoreSpec:
    return ScoreSpec.of(write_artifact(tmp_path / "artifact"), tmp_path / "artifact", engine="given by the test")


def rows_of(spec: ScoreSpec, engine: Any, reference: Engine, monkeypatch: pytest.MonkeyPatch) -> ScoreRows:
    monkeypatch.setattr(score, "load_engine_pair", lambda _: (engine, reference))
    return ScoreRows(spec, 60.0)


@pytest.mark.parametrize("wrong", [*WRONG, AllScoresEqual])
def test_an_epoch_in_which_the_engine_turns_wrong_is_not_given_out_and_those_before_are(
    wrong: Any, qwen3: Path, spec: ScoreSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = ReferenceEngine(qwen3)
    engine = TurnsWrong(SingleItemEngine(qwen3), wrong(qwen3), after=ROWS_A_BATCH + 1)
    score_rows = rows_of(spec, engine, reference, monkeypatch)
    given = score_rows(batch(1))
    with pytest.raises(CanaryError):
        score_rows(batch(2))
    assert given.num_rows == ROWS_A_BATCH and len(set(given["canary_epoch"].to_pylist())) == 1


def test_an_engine_that_failed_once_is_not_asked_again(
    qwen3: Path, spec: ScoreSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = SingleItemEngine(qwen3)
    engine = TurnsWrong(right, AllScoresEqual(qwen3), after=0)
    score_rows = rows_of(spec, engine, ReferenceEngine(qwen3), monkeypatch)
    with pytest.raises(CanaryError) as first:
        score_rows(batch(1))
    engine.wrong = right
    for ask in (score_rows.require_sound, lambda: score_rows(batch(1))):
        with pytest.raises(EngineError) as again:
            ask()
        assert again.value is first.value


def test_a_canary_that_fails_at_the_start_leaves_no_scorer(
    qwen3: Path, spec: ScoreSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CanaryError):
        rows_of(spec, AllScoresEqual(qwen3), ReferenceEngine(qwen3), monkeypatch)
