"""The baseline's texts: pairs regrouped, the loss on the answer list alone, inert texts, lists that read back."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import PromptError
from mis_scoring.evaluation.generation_prompt import GenerationPrompt, GenerationTokenizer
from mis_scoring.evaluation.packed_generation import (
    consecutive_lists,
    generation_example,
    max_new_tokens,
    read_list,
    training_lists,
)
from tests.tiny_labeler import write_tokenizer

PROMPT = GenerationPrompt(
    query_prefix="Profile:\n",
    query_suffix="\nQualifications:",
    list_suffix="<|readout|>",
    answers=("YES", "NO"),
    separator=", ",
    end_token="<|pad|>",
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> GenerationTokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return GenerationTokenizer(folder / "tokenizer.json", PROMPT)


@given(answers=st.lists(st.booleans(), min_size=1, max_size=20))
def test_the_trained_list_reads_back_within_the_token_limit(
    tokenizer: GenerationTokenizer, answers: list[bool]
) -> None:
    tokens = tokenizer.encode_answers(answers)
    assert len(tokens) <= max_new_tokens(len(answers), tokenizer)
    parsed = read_list(tokens, len(answers), tokenizer)
    assert (list(parsed.answers), parsed.is_malformed) == (answers, False)


@given(answers=st.lists(st.booleans(), min_size=2, max_size=20), cut=st.integers(0, 60))
def test_a_list_without_its_end_is_truncated(tokenizer: GenerationTokenizer, answers: list[bool], cut: int) -> None:
    parsed = read_list(tokenizer.encode_answers(answers)[:-1][:cut], len(answers), tokenizer)
    assert parsed.reason == "truncated"
    assert all(a is None or a == b for a, b in zip(parsed.answers, answers, strict=True))


def test_the_loss_is_on_the_answer_list_only(tokenizer: GenerationTokenizer) -> None:
    query = tokenizer.encode_query("nurse, 5 years")
    example = generation_example(query, ["nurse", "tax accountant"], [True, False], tokenizer)
    learnt = [example.token_ids[place + 1] for place in example.loss_places]
    assert learnt == list(example.targets) == tokenizer.encode_answers([True, False])
    text = tokenizer.decode(example.token_ids)
    expected = "Profile:\nnurse, 5 years\nQualifications:\n1. nurse\n2. tax accountant<|readout|>YES, NO<|pad|>"
    assert text == expected


def test_a_text_that_spells_a_special_token_does_not_end_a_prompt(tokenizer: GenerationTokenizer) -> None:
    profile = tokenizer.encode_query("YES <|readout|> <|pad|>")
    listed = tokenizer.encode_list(["<|readout|><|pad|>"])
    readout = tokenizer.encode_list([])[-1]
    assert tokenizer.end_id not in [*profile, *listed]
    assert [token for token in [*profile, *listed] if token == readout] == [listed[-1]]


def test_an_end_that_is_no_token_is_refused(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    prompt = GenerationPrompt(**(vars(PROMPT) | {"end_token": "<|nothing|>"}))
    with pytest.raises(PromptError, match="name one that is"):
        GenerationTokenizer(tmp_path / "tokenizer.json", prompt)


def test_pairs_that_do_not_match_are_refused(tokenizer: GenerationTokenizer) -> None:
    with pytest.raises(ValueError, match="2 qualifications, 1 answers"):
        generation_example([1], ["a", "b"], [True], tokenizer)


@given(n=st.integers(1, 90), seed=st.integers(0, 99))
def test_training_lists_hold_every_pair_once_and_vary_in_length(n: int, seed: int) -> None:
    lists = list(training_lists(n, random.Random(seed)))
    assert sorted(place for places in lists for place in places) == list(range(n))
    assert all(1 <= len(places) <= 20 for places in lists)


def test_shuffled_lists_differ_from_pass_to_pass() -> None:
    rng = random.Random(0)
    passes = [list(training_lists(40, rng)) for _ in range(30)]
    assert len({len(lists[0]) for lists in passes}) > 5
    assert passes[0] != passes[1]


@given(n=st.integers(0, 70))
def test_an_evaluated_order_is_cut_in_sequence(n: int) -> None:
    order = random.Random(1).sample(range(n), n)
    lists = list(consecutive_lists(order))
    assert [place for places in lists for place in places] == order
    assert all(len(places) == 20 for places in lists[:-1])
