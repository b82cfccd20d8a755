"""Engines that are wrong on purpose: the oracle and the canary must both catch each of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.packing import PackedRequest
from mis_scoring.core.readout import FloatArray
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.canary import CanaryError, canary_pairs, check_canary
from mis_scoring.engines.cascade import CascadeEngine
from mis_scoring.engines.dense import DenseEngine
from mis_scoring.engines.reference import ReferenceEngine
from mis_scoring.engines.sglang_settings import SGLangSettings
from mis_scoring.engines.single import SingleItemEngine
from tests.unit.conftest import LABELS, UNEQUAL_LENGTHS, draw_request


class PlainCausalMask(DenseEngine):
    """Items see the items before them."""

    def _mask(self, packed: PackedRequest) -> Any:
        return np.tri(len(packed.token_ids), dtype=np.bool_)


class PositionsRunOn(DenseEngine):
    """Items stand one after the other instead of each right after the query."""

    def _pack(self, query: TokenIds, items: Sequence[TokenIds]) -> PackedRequest:
        packed = super()._pack(query, items)
        return replace(packed, position_ids=np.arange(len(packed.token_ids)))


class LooksAhead(DenseEngine):
    """An item's tokens see the whole item, in both directions."""

    def _mask(self, packed: PackedRequest) -> Any:
        segments = packed.segment_ids
        return super()._mask(packed) | ((segments[:, None] == segments[None, :]) & (segments[:, None] > 0))


class ReadsOneTokenEarly(DenseEngine):
    """The logits are taken before the answer position."""

    def _pack(self, query: TokenIds, items: Sequence[TokenIds]) -> PackedRequest:
        packed = super()._pack(query, items)
        return replace(packed, readout_rows=packed.readout_rows - 1)


class RowsOutOfOrder(CascadeEngine):
    """Row i belongs to another item."""

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        return np.roll(super().label_logits(query, items, label_tokens), 1, axis=0)


class PaddingIsSeen(CascadeEngine):
    """Padding stands before an item's tokens, where the causal mask shows it."""

    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> Any:
        longest = max(map(len, items))
        return super()._last_hidden(query, [[0] * (longest - len(item)) + list(item) for item in items])


BUNDLED = Path(__file__).resolve().parents[2] / "labelers" / "esco-small"
WRONG = [PlainCausalMask, PositionsRunOn, LooksAhead, ReadsOneTokenEarly, RowsOutOfOrder, PaddingIsSeen]


@pytest.mark.parametrize("wrong", WRONG)
def test_the_oracle_shows_a_wrong_engine(wrong: type[Engine], qwen3: Path) -> None:
    query, items = draw_request(1, UNEQUAL_LENGTHS)
    found = wrong(qwen3).label_logits(query, items, LABELS)
    assert np.abs(found - DenseEngine(qwen3).label_logits(query, items, LABELS)).max() > 1e-2


@pytest.mark.parametrize("wrong", WRONG)
def test_the_canary_catches_a_wrong_engine(wrong: type[Engine], qwen3: Path) -> None:
    with pytest.raises(CanaryError) as caught:
        check_canary(wrong(qwen3), ReferenceEngine(qwen3), LABELS)
    assert any("against single" in fault for fault in caught.value.faults)


@pytest.mark.parametrize("leak", [PlainCausalMask, PositionsRunOn, PaddingIsSeen])
def test_the_canary_needs_no_right_reference_to_see_a_leak(leak: type[Engine], qwen3: Path) -> None:
    with pytest.raises(CanaryError) as caught:
        check_canary(leak(qwen3), leak(qwen3), LABELS)
    assert any("poisoned neighbour" in fault for fault in caught.value.faults)


@pytest.mark.parametrize("right", [CascadeEngine, DenseEngine, SingleItemEngine])
def test_the_canary_passes_a_right_engine_and_tells_how_far_margins_moved(
    right: type[Engine], checkpoint: Path
) -> None:
    moved = check_canary(right(checkpoint), ReferenceEngine(checkpoint), LABELS)
    assert set(moved) == {"against single", "permuted", "poisoned neighbour", "duplicated"}
    assert max(moved.values()) <= 1e-5


def test_the_canary_is_not_fooled_by_constant_scores(qwen3: Path) -> None:
    class Constant(SingleItemEngine):
        def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
            return np.ones((len(items), 2), np.float32)

    with pytest.raises(CanaryError, match="all scores are equal"):
        check_canary(Constant(qwen3), Constant(qwen3), LABELS)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_canary_takes_no_score_that_is_not_finite(value: float, qwen3: Path) -> None:
    class Broken(SingleItemEngine):
        def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
            logits = super().label_logits(query, items, label_tokens)
            logits[1, 0] = value
            return logits

    with pytest.raises(CanaryError, match=r"item rows \[1\]"):
        check_canary(Broken(qwen3), ReferenceEngine(qwen3), LABELS)


def test_the_canary_counts_the_rows(qwen3: Path) -> None:
    class LosesOne(SingleItemEngine):
        def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
            return super().label_logits(query, items, label_tokens)[:-1]

    with pytest.raises(CanaryError, match="6 items gave 5 rows"):
        check_canary(LosesOne(qwen3), ReferenceEngine(qwen3), LABELS)


def test_a_readout_one_token_early_shows_where_a_trained_labeler_answers() -> None:
    artifact = LabelerArtifact.load(BUNDLED)
    tokenizer = PromptTokenizer(BUNDLED / "tokenizer.json", artifact.prompt)
    engine, reference = ReadsOneTokenEarly(BUNDLED), ReferenceEngine(BUNDLED)
    labels, allowed = tokenizer.label_tokens("YES", "NO"), SGLangSettings().rounding
    with pytest.raises(CanaryError, match="against single: a margin moved by 2"):
        pairs = canary_pairs(item_suffix=tokenizer.item_suffix)
        check_canary(engine, reference, labels, pairs=pairs, tolerance=allowed)


def test_canary_pairs_are_the_same_every_time() -> None:
    assert canary_pairs() == canary_pairs()
    assert len({len(item) for item in canary_pairs().items}) > 3
