"""Batched decoding with a cache gives what one prompt at a time without a cache gives."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mis_scoring.evaluation.greedy_decoding import greedy_decode
from mis_scoring.training.model import DecoderShape, make_decoder

END, PAD, VOCABULARY = 1, 0, 30
SHAPE = DecoderShape(
    vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, n_layers=2, n_heads=2, n_kv_heads=1, head_dim=16
)
prompts = st.lists(st.lists(st.integers(2, VOCABULARY - 1), min_size=1, max_size=12), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def decoder() -> Any:
    """Return a small decoder whose weights are large enough for the prompt to matter."""
    made = make_decoder(SHAPE, seed=1).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() >= 2:
                parameter.mul_(8)
    return made


def decode_plainly(decoder: Any, prompt: list[int], *, n: int) -> list[int]:
    tokens = list(prompt)
    while len(tokens) - len(prompt) < n and (len(tokens) == len(prompt) or tokens[-1] != END):
        with torch.inference_mode():
            tokens.append(int(decoder(input_ids=torch.tensor([tokens])).logits[0, -1].argmax()))
    return tokens[len(prompt) :]


@given(texts=prompts, rows=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_rows_decode_as_they_do_alone_and_without_a_cache(decoder: Any, texts: list[list[int]], rows: int) -> None:
    together = greedy_decode(decoder, texts, end_id=END, pad_id=PAD, max_new_tokens=6, rows=rows)
    assert together == [decode_plainly(decoder, text, n=6) for text in texts]


def test_a_row_stops_at_the_end_token_and_not_before_the_others(decoder: Any) -> None:
    texts = [[n] for n in range(2, VOCABULARY)]
    ends = {decode_plainly(decoder, text, n=4)[-1] for text in texts}
    end_id = next(iter(ends))
    decoded = greedy_decode(decoder, texts, end_id=end_id, pad_id=PAD, max_new_tokens=8)
    lengths = {len(tokens) for tokens in decoded}
    assert any(tokens[-1] == end_id and len(tokens) < 8 for tokens in decoded)
    assert all(end_id not in tokens[:-1] for tokens in decoded)
    assert max(lengths) <= 8
