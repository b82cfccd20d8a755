"""A pair's score is its own: it does not depend on what the pair is packed with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mis_scoring.core.engine import Engine, ManyQueryEngine, QueryItems
from mis_scoring.core.errors import EngineError
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.cascade import CascadeEngine
from mis_scoring.engines.dense import DenseEngine
from mis_scoring.engines.reference import ReferenceEngine
from mis_scoring.engines.single import SingleItemEngine
from tests.unit.conftest import LABELS, UNEQUAL_LENGTHS, draw_request, draw_tokens, write_checkpoint

ROUNDING = 1e-5
PACKED: list[Callable[[Path], Engine]] = [CascadeEngine, lambda folder: DenseEngine(folder, items_per_pass=4)]
ALONE: list[Callable[[Path], Engine]] = [SingleItemEngine, ReferenceEngine]


@pytest.fixture(params=PACKED, ids=["cascade", "dense"])
def engine(request: pytest.FixtureRequest, checkpoint: Path) -> Engine:
    made: Engine = request.param(checkpoint)
    return made


def test_packed_logits_are_those_of_single_prompts(engine: Engine, checkpoint: Path) -> None:
    query, items = draw_request(1, UNEQUAL_LENGTHS)
    alone = SingleItemEngine(checkpoint).label_logits(query, items, LABELS)
    packed = engine.label_logits(query, items, LABELS)
    assert packed.dtype == np.float32
    assert alone.std() > 0.1
    assert_close(packed, alone)


def test_single_prompts_give_the_logits_of_the_plain_model(checkpoint: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    query, items = draw_request(2, (5, 9))
    model = AutoModelForCausalLM.from_pretrained(checkpoint, attn_implementation="eager").eval()
    with torch.inference_mode():
        rows = [model(torch.tensor([[*query, *item]])).logits[0, -1, list(LABELS.ids)].numpy() for item in items]
    assert_close(SingleItemEngine(checkpoint).label_logits(query, items, LABELS), np.stack(rows))


def test_the_reference_agrees_with_single_prompts(checkpoint: Path) -> None:
    query, items = draw_request(3, UNEQUAL_LENGTHS)
    found = ReferenceEngine(checkpoint).label_logits(query, items, LABELS)
    assert_close(found, SingleItemEngine(checkpoint).label_logits(query, items, LABELS))


@pytest.mark.parametrize("block", [2, 16])
def test_the_reference_agrees_in_blocks_too_and_counts_their_padding(checkpoint: Path, block: int) -> None:
    query, items = draw_request(3, UNEQUAL_LENGTHS)
    reference = ReferenceEngine(checkpoint, block=block)
    found = reference.label_logits(query, items, LABELS)
    assert_close(found, SingleItemEngine(checkpoint).label_logits(query, items, LABELS))
    assert reference.prefill_tokens(57, [1, 5, 3]) == 57 + (2 * (2 + 6 + 4) if block == 2 else 16 * 16)


@pytest.mark.parametrize("make", ALONE, ids=["single", "reference"])
def test_an_engine_that_scores_pairs_alone_has_the_same_bits_in_any_company(
    make: Callable[[Path], Engine], checkpoint: Path
) -> None:
    query, items = draw_request(4, UNEQUAL_LENGTHS)
    engine = make(checkpoint)
    assert engine.batch_invariant
    together = engine.label_logits(query, items, LABELS)
    assert np.array_equal(together, engine.label_logits(query, items[::-1], LABELS)[::-1])
    assert np.array_equal(together[3:4], engine.label_logits(query, items[3:4], LABELS))


def test_the_order_of_the_items_does_not_matter(engine: Engine) -> None:
    query, items = draw_request(5, UNEQUAL_LENGTHS)
    order = np.random.default_rng(0).permutation(len(items))
    shuffled = engine.label_logits(query, [items[i] for i in order], LABELS)
    assert_close(shuffled, engine.label_logits(query, items, LABELS)[order])


def test_a_poisoned_neighbour_does_not_move_the_others(engine: Engine) -> None:
    query, items = draw_request(6, UNEQUAL_LENGTHS)
    (poison,) = draw_tokens(60, 90)
    before = engine.label_logits(query, items, LABELS)
    after = engine.label_logits(query, [poison, *items[1:]], LABELS)
    assert_close(after[1:], before[1:])
    assert np.abs(after[0] - before[0]).max() > 0.01


def test_a_round_split_in_two_scores_as_one(engine: Engine) -> None:
    query, items = draw_request(7, UNEQUAL_LENGTHS)
    parts = [engine.label_logits(query, part, LABELS) for part in (items[:4], items[4:])]
    assert_close(np.concatenate(parts), engine.label_logits(query, items, LABELS))


def test_one_item_alone_is_a_round(engine: Engine, checkpoint: Path) -> None:
    query, items = draw_request(8, (6,))
    assert_close(
        engine.label_logits(query, items, LABELS), SingleItemEngine(checkpoint).label_logits(query, items, LABELS)
    )


def test_a_query_of_one_token_is_enough(engine: Engine, checkpoint: Path) -> None:
    query, items = draw_request(9, (6, 1, 3), query_tokens=1)
    assert_close(
        engine.label_logits(query, items, LABELS), SingleItemEngine(checkpoint).label_logits(query, items, LABELS)
    )


def test_no_items_give_no_rows(engine: Engine) -> None:
    assert engine.label_logits([1, 2], [], LABELS).shape == (0, 2)


def test_columns_follow_the_label_tokens(engine: Engine) -> None:
    from mis_scoring.core.labels import LabelTokens

    query, items = draw_request(10, (4, 7))
    swapped = engine.label_logits(query, items, LabelTokens(yes=LABELS.no, no=LABELS.yes))
    assert_close(swapped[:, ::-1], engine.label_logits(query, items, LABELS))


def test_a_checkpoint_stored_in_bfloat16_is_computed_in_float32(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    folder = write_checkpoint(tmp_path / "whole", "qwen3")
    AutoModelForCausalLM.from_pretrained(folder).to(torch.bfloat16).save_pretrained(tmp_path / "half")
    query, items = draw_request(11, UNEQUAL_LENGTHS)
    cascade, single = (make(tmp_path / "half") for make in (CascadeEngine, SingleItemEngine))
    assert cascade.fingerprint["dtype"] == "float32"
    assert_close(cascade.label_logits(query, items, LABELS), single.label_logits(query, items, LABELS))


def assert_close(found: FloatArray, expected: FloatArray) -> None:
    assert found.shape == expected.shape
    assert float(np.abs(found - expected).max()) <= ROUNDING


def test_requests_that_share_a_pass_have_the_scores_that_each_has_alone(checkpoint: Path) -> None:
    engine = CascadeEngine(checkpoint)
    assert isinstance(engine, ManyQueryEngine)
    requests = [draw_request(seed, lengths, query_tokens=n) for seed, n, lengths in ((6, 57, (5, 1, 9)), (7, 4, (24,)))]
    together = engine.label_logits_of_many([QueryItems(query=q, items=items) for q, items in requests], LABELS)
    for found, (query, items) in zip(together, requests, strict=True):
        assert_close(found, engine.label_logits(query, items, LABELS))


def test_a_query_that_was_computed_before_gives_its_items_the_same_scores(checkpoint: Path) -> None:
    engine = CascadeEngine(checkpoint)
    (query, items), (other, others) = draw_request(8, UNEQUAL_LENGTHS), draw_request(9, (3, 7), query_tokens=30)
    keys: dict[int, Any] = {}
    stranger = QueryItems(query=other, items=others)
    (none, _) = engine.label_logits_of_many([QueryItems(query=query, items=(), query_keys=keys), stranger], LABELS)
    assert none.shape == (0, 2)
    assert {tuple(tensor.shape[1:3]) for pair in keys.values() for tensor in pair} == {(2, len(query))}
    for rows in (slice(None), slice(2, 5)):
        asked = [stranger, QueryItems(query=query, items=items[rows], query_keys=keys)]
        found = engine.label_logits_of_many(asked, LABELS)[1]
        assert_close(found, engine.label_logits(query, items, LABELS)[rows])


def test_a_pass_that_fails_leaves_no_half_of_a_query(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = CascadeEngine(checkpoint)
    query, items = draw_request(10, (3, 4))
    keys: dict[int, Any] = {}

    def fail(*_: Any) -> Any:
        assert keys, "the layers ran"
        raise RuntimeError("out of memory")

    monkeypatch.setattr(engine, "_readout", fail)
    with pytest.raises(EngineError, match="out of memory"):
        engine.label_logits_of_many([QueryItems(query=query, items=items, query_keys=keys)], LABELS)
    assert keys == {}
