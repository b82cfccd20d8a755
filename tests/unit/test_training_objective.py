"""Packed and single-item training are one objective; a broken mask or order is another."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mis_scoring.core.packing import mis_mask, pack
from mis_scoring.training.adapter import LoraShape, add_lora
from mis_scoring.training.batches import collate
from mis_scoring.training.examples import TrainingExample, split_items
from mis_scoring.training.loss import losses, to_torch
from mis_scoring.training.model import DecoderShape, make_decoder, mis_attention_mask
from mis_scoring.training.pair_scoring import margins_of

YES, NO, PAD, VOCABULARY = 5, 6, 0, 40
SHAPE = DecoderShape(
    vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, n_layers=2, n_heads=2, n_kv_heads=1, head_dim=16
)
tokens = st.lists(st.integers(min_value=7, max_value=VOCABULARY - 1), min_size=1, max_size=9)


@st.composite
def examples(draw: Any) -> TrainingExample:
    items = draw(st.lists(tokens, min_size=1, max_size=5))
    answers = draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    return TrainingExample(query=draw(tokens), items=items, answers=answers)


MODEL_TYPES = ("own", "llama", "qwen2", "qwen3")


def make_model(model_type: str = "own", *, has_lora: bool = False) -> Any:
    """Return a small decoder whose weights are large enough for attention to matter."""
    decoder = make_decoder(SHAPE, seed=1) if model_type == "own" else make_base(model_type)
    with torch.no_grad():
        for name, parameter in decoder.named_parameters():
            if parameter.dim() >= 2:
                parameter.mul_(8)
            elif name.endswith("bias"):
                parameter.normal_()  # Qwen2's, which start at nothing
    if has_lora:
        add_lora(decoder, LoraShape(rank=3, alpha=6), seed=2)
        with torch.no_grad():
            for name, parameter in decoder.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.2)  # at its start of 0 the other half would have no gradient
    return decoder


def make_base(model_type: str) -> Any:
    """Return a decoder of that type with a head of its own."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        model_type,
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="sdpa",
    )
    torch.manual_seed(1)
    return AutoModelForCausalLM.from_config(config)


def gradients(decoder: Any, parts: list[TrainingExample]) -> dict[str, torch.Tensor]:
    """Return the gradients of the mean label loss over all pairs of the parts."""
    decoder.zero_grad(set_to_none=True)
    batch = to_torch(collate(parts, pad_id=PAD), yes_id=YES, no_id=NO, device="cpu")
    label_loss, _, _ = losses(decoder, batch, n_lm_tokens=0)
    label_loss.backward()
    return {name: p.grad.clone() for name, p in decoder.named_parameters() if p.requires_grad}


@pytest.mark.parametrize("has_lora", [False, True], ids=["all weights", "lora"])
@pytest.mark.parametrize("model_type", MODEL_TYPES)
@given(example=examples())
@settings(max_examples=6, deadline=None)
def test_packed_training_has_the_gradients_of_single_item_training(
    model_type: str, has_lora: bool, example: TrainingExample
) -> None:
    decoder = make_model(model_type, has_lora=has_lora)
    packed = gradients(decoder, [example])
    single = gradients(decoder, list(split_items(example, items_per_example=1)))
    assert all(("lora_" in name) is has_lora for name in packed)
    for name, gradient in packed.items():
        torch.testing.assert_close(gradient, single[name], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("has_lora", [False, True], ids=["all weights", "lora"])
@pytest.mark.parametrize("model_type", MODEL_TYPES)
@pytest.mark.parametrize("fault", ["plain causal mask", "positions go on"])
def test_the_gradients_differ_without_the_mask_or_the_reused_positions(
    fault: str, model_type: str, has_lora: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = TrainingExample(query=[7, 8, 9, 10], items=[[11, 12], [13, 14, 15], [16]], answers=[True, False, True])
    decoder = make_model(model_type, has_lora=has_lora)
    single = gradients(decoder, list(split_items(example, items_per_example=1)))
    batch = collate([example], pad_id=PAD)
    if fault == "plain causal mask":
        batch.segment_ids[batch.segment_ids > 0] = 1
    else:
        batch.position_ids[0] = np.arange(batch.position_ids.shape[1])
    monkeypatch.setattr("tests.unit.test_training_objective.collate", lambda *_, **__: batch)
    broken = gradients(decoder, [example])
    assert max(float((broken[name] - single[name]).abs().max()) for name in single) > 1e-3


@given(example=examples())
@settings(max_examples=50, deadline=None)
def test_the_mask_and_positions_are_those_of_the_packed_request(example: TrainingExample) -> None:
    batch = collate([example], pad_id=PAD)
    packed = pack(example.query, example.items)
    n = example.n_tokens
    mask = mis_attention_mask(torch.from_numpy(batch.segment_ids))[0, 0].numpy()
    assert np.array_equal(mask[:n, :n], mis_mask(packed))
    assert not mask[:n, n:].any()
    assert np.array_equal(batch.token_ids[0, :n], packed.token_ids)
    assert np.array_equal(batch.position_ids[0, :n], packed.position_ids)
    assert np.array_equal(batch.readout_places, packed.readout_rows)


def test_padding_rows_see_themselves_so_that_nothing_is_nan() -> None:
    batch = collate([TrainingExample(query=[7], items=[[8]], answers=[True])], pad_id=PAD)
    mask = mis_attention_mask(torch.from_numpy(batch.segment_ids))[0, 0]
    assert mask.any(dim=1).all()


@given(example=examples(), size=st.integers(min_value=1, max_value=6))
def test_splitting_keeps_every_pair_once_and_in_order(example: TrainingExample, size: int) -> None:
    parts = list(split_items(example, items_per_example=size))
    assert [item for part in parts for item in part.items] == list(example.items)
    assert [answer for part in parts for answer in part.answers] == list(example.answers)
    assert all(len(part.items) <= size for part in parts)


def test_margins_come_back_in_the_order_of_examples_and_items() -> None:
    decoder = make_model()
    rows = [TrainingExample(query=[7] * n, items=[[8 + i] for i in range(n)], answers=[True] * n) for n in (5, 1, 3, 2)]
    together = margins_of(decoder, rows, yes_id=YES, no_id=NO, pad_id=PAD, rows=2)
    alone = [margins_of(decoder, [row], yes_id=YES, no_id=NO, pad_id=PAD)[0] for row in rows]
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)


def test_the_language_model_loss_takes_query_tokens_only() -> None:
    decoder = make_model()
    query = [7, 8, 9, 10, 11]
    batches = [
        to_torch(
            collate([TrainingExample(query=query, items=[[item]], answers=[True])], pad_id=PAD),
            yes_id=YES,
            no_id=NO,
            device="cpu",
        )
        for item in (20, 30)
    ]
    first, second = (losses(decoder, batch, n_lm_tokens=1000)[1] for batch in batches)
    torch.testing.assert_close(first, second)
    assert float(first.detach()) > 0
