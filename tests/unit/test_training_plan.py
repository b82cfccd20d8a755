"""A run's steps: every pair once an epoch, decided by the seed, in batches of bounded size; and what they cost."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.packing import mis_mask, pack
from mis_scoring.training.batches import by_padded_tokens, padded_length
from mis_scoring.training.examples import TrainingExample, split_items
from mis_scoring.training.flops import ModelSize, example_flops, peak_flops, seen_pairs, throughput
from mis_scoring.training.model import DecoderShape, make_decoder
from mis_scoring.training.plan import StepPlan

Pair = tuple[int, int, bool]


@st.composite
def plans(draw: Any, *, is_packed: bool | None = None) -> StepPlan:
    """Draw members whose first token names them, and items whose first token names them."""
    examples = []
    for member in range(draw(st.integers(1, 6))):
        n = draw(st.integers(1, 9))
        lengths = draw(st.lists(st.integers(1, 90), min_size=n, max_size=n))
        answers = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        query = [member] * draw(st.integers(1, 100))
        items = [[100 + number] * length for number, length in enumerate(lengths)]
        examples.append(TrainingExample(query=query, items=items, answers=answers))
    return StepPlan(
        examples=examples,
        is_packed=draw(st.booleans()) if is_packed is None else is_packed,
        items_per_example=draw(st.integers(1, 5)),
        pairs_per_step=draw(st.integers(1, 12)),
        tokens_per_batch=draw(st.integers(64, 700)),
        seed=draw(st.integers(0, 3)),
    )


def pairs_of(rows: Sequence[TrainingExample]) -> list[Pair]:
    return [(r.query[0], item[0], answer) for r in rows for item, answer in zip(r.items, r.answers, strict=True)]


@given(plan=plans())
def test_an_epoch_holds_every_pair_once_and_its_steps_are_full(plan: StepPlan) -> None:
    for epoch in range(2):
        first = epoch * plan.steps_per_epoch
        steps = [pairs_of(rows) for rows in islice(plan.steps(first=first), plan.steps_per_epoch)]
        assert Counter(pair for step in steps for pair in step) == Counter(pairs_of(plan.examples))
        assert all(len(step) == plan.pairs_per_step for step in steps[:-1])
        assert steps[-1]


@given(plan=plans(), first=st.integers(0, 12))
def test_a_run_goes_on_anywhere_with_the_steps_it_would_have_had(plan: StepPlan, first: int) -> None:
    whole = list(islice(plan.steps(), first + 4))
    assert list(islice(plan.steps(first=first), 4)) == whole[first:]


@given(plan=plans(is_packed=True))
def test_both_layouts_have_the_same_pairs_in_a_step(plan: StepPlan) -> None:
    single = StepPlan(**(vars(plan) | {"is_packed": False}))
    for packed_rows, rows in zip(islice(plan.steps(), 5), islice(single.steps(), 5), strict=True):
        assert Counter(pairs_of(packed_rows)) == Counter(pairs_of(rows))
        assert all(len(row.items) == 1 for row in rows)
        assert all(len(row.items) <= plan.items_per_example for row in packed_rows)


@given(plan=plans())
def test_a_batch_is_bounded_by_padded_tokens_and_only_a_pair_alone_may_pass_it(plan: StepPlan) -> None:
    for rows in islice(plan.steps(), 4):
        batches = plan.batches(rows)
        assert sum(len(b.answers) for b in batches) == len(pairs_of(rows))
        for batch in batches:
            assert batch.token_ids.size <= plan.tokens_per_batch or len(batch.answers) == 1


def test_epochs_and_seeds_differ() -> None:
    examples = [TrainingExample(query=[m], items=[[q] for q in range(9)], answers=[True] * 9) for m in range(9)]
    settings: Any = {"is_packed": True, "items_per_example": 4, "pairs_per_step": 81, "tokens_per_batch": 999}
    orders = [
        pairs_of(next(StepPlan(examples=examples, seed=seed, **settings).steps(first=first)))
        for seed, first in ((0, 0), (0, 1), (1, 0))
    ]
    assert orders[0] != orders[1] and orders[0] != orders[2]


@given(lengths=st.lists(st.integers(1, 300), max_size=30), limit=st.integers(1, 900), most=st.integers(1, 9))
def test_groups_of_rows_are_bounded_and_lose_none(lengths: list[int], limit: int, most: int) -> None:
    groups = list(by_padded_tokens(lengths, limit=limit, most=most))
    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) <= most
        assert len(group) == 1 or max(padded_length(lengths[p]) for p in group) * len(group) <= limit


@given(query=st.integers(1, 30), items=st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_the_seen_pairs_are_those_of_the_mask(query: int, items: list[int]) -> None:
    packed = pack([1] * query, [[2] * n for n in items])
    assert seen_pairs(query, items) == mis_mask(packed).sum()


SHAPE = DecoderShape(
    vocab_size=40, hidden_size=32, intermediate_size=48, n_layers=2, n_heads=2, n_kv_heads=1, head_dim=16
)


def test_the_operations_are_those_that_torch_counts_for_the_matrices() -> None:
    """Torch counts what is executed; the attention's formula counts the pairs seen, torch's every pair."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from mis_scoring.training.batches import collate
    from mis_scoring.training.loss import losses, to_torch

    decoder = make_decoder(SHAPE, seed=0)
    example = TrainingExample(query=[7] * 50, items=[[8] * 7, [9] * 7], answers=[True, False])  # 64: no padding
    batch = to_torch(collate([example], pad_id=0), yes_id=1, no_id=2, device="cpu")
    with FlopCounterMode(display=False) as counter:
        losses(decoder, batch, n_lm_tokens=0)[0].backward()
    counted = sum(
        flops
        for op, flops in counter.get_flop_counts()["Global"].items()
        if op in (torch.ops.aten.mm, torch.ops.aten.addmm)
    )
    size = ModelSize.of(decoder)
    matrices = example_flops(size, example) - 12 * size.n_attention * seen_pairs(50, [7, 7])
    assert matrices == counted


def test_frozen_weights_cost_two_thirds_and_the_adapter_its_own() -> None:
    from mis_scoring.training.adapter import LoraShape, add_lora

    decoder = make_decoder(SHAPE, seed=0)
    whole = ModelSize.of(decoder)
    add_lora(decoder, LoraShape(rank=2, alpha=2), seed=0)
    size = ModelSize.of(decoder)
    assert (size.n_body, size.n_head, size.n_attention) == (whole.n_body, whole.n_head, whole.n_attention)
    assert size.n_adapter == sum(p.numel() for p in decoder.parameters() if p.requires_grad)
    example = TrainingExample(query=[1] * 10, items=[[1]], answers=[True])
    fewer = example_flops(whole, example) - example_flops(size, example)
    assert fewer == 2 * (whole.n_body * 11 + whole.n_head) - 6 * size.n_adapter * 11


def test_packing_costs_fewer_operations_a_pair() -> None:
    size = ModelSize.of(make_decoder(SHAPE, seed=0))
    example = TrainingExample(query=[1] * 100, items=[[1] * 5] * 10, answers=[True] * 10)
    single = sum(example_flops(size, row) for row in split_items(example, items_per_example=1))
    assert 6 < single / example_flops(size, example) < 8


def test_a_limit_is_told_where_the_peak_is_known() -> None:
    assert peak_flops("NVIDIA H200") == 989e12
    assert peak_flops("some other device") is None and peak_flops(None) is None
    known = throughput(flops=1e12, n_pairs=100, seconds=2.0, peak=1e12)
    assert (known["pairs_per_s"], known["limit_pairs_per_s"], known["share_of_limit"]) == (50.0, 100.0, 0.5)
    unknown = throughput(flops=1e12, n_pairs=100, seconds=2.0, peak=None)
    assert (unknown["pairs_per_s"], unknown["limit_pairs_per_s"], unknown["share_of_limit"]) == (50.0, None, None)
    assert throughput(flops=0.0, n_pairs=0, seconds=0.0, peak=1e12)["pairs_per_s"] == pytest.approx(0.0)
