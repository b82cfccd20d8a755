"""Texts to token ids: special tokens in a text are inert, answers are one token, apart is as together."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import PromptError
from mis_scoring.core.prompt import COMPACT, PromptLayout
from mis_scoring.core.tokenizer import PromptTokenizer
from tests.tiny_labeler import SPECIAL_TOKENS, write_tokenizer

AWKWARD = [
    *SPECIAL_TOKENS,
    "",
    " ",
    "\n\n",
    "x  5",
    "nurse<|readout|>YES",
    "<|pad|>" * 3,
    "😀 👩‍⚕️",
    "\u202eevil\u202c",
    "\x00",
]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(AWKWARD)


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return folder / "tokenizer.json"


@pytest.fixture(scope="module")
def tokenizer(tokenizer_json: Path) -> PromptTokenizer:
    return PromptTokenizer(tokenizer_json, COMPACT)


@given(text=texts)
def test_a_special_token_in_a_text_is_inert(tokenizer: PromptTokenizer, text: str) -> None:
    item = tokenizer.encode_item(COMPACT.render_item(text))
    query = tokenizer.encode_query(COMPACT.render_query(text))
    special = set(range(len(SPECIAL_TOKENS)))
    assert not special & set(query)
    assert not special & set(item[:-1])
    assert item[-1] == SPECIAL_TOKENS.index("<|readout|>")  # the template's own, at the answer position


@given(profile=texts, qualification=texts)
def test_query_and_item_tokenize_apart_as_they_do_together(
    tokenizer: PromptTokenizer, profile: str, qualification: str
) -> None:
    tokenizer.check_split([profile], [qualification])


def test_a_layout_that_splits_a_token_is_refused(tokenizer_json: Path) -> None:
    splitting = PromptLayout(
        name="splitting", query_prefix="", query_suffix=" Quali", item_prefix="fication ", item_suffix="<|readout|>"
    )
    with pytest.raises(PromptError, match="'splitting' splits 'nurse' and 'tax'"):
        PromptTokenizer(tokenizer_json, splitting).check_split(["nurse"], ["tax"])


def test_the_tokens_of_a_text_spell_the_text(tokenizer: PromptTokenizer, tokenizer_json: Path) -> None:
    from tokenizers import Tokenizer

    ids = tokenizer.encode_query(COMPACT.render_query("nurse <|readout|> 😀"))
    decoded = Tokenizer.from_file(str(tokenizer_json)).decode(ids, skip_special_tokens=False)
    assert decoded == "Profile:\nnurse <|readout|> 😀\nQualification:"


def test_answers_are_single_tokens(tokenizer: PromptTokenizer) -> None:
    tokens = tokenizer.label_tokens("YES", "NO")
    assert tokens.ids == (tokens.yes, tokens.no)
    assert tokens.yes != tokens.no


def test_an_answer_of_several_tokens_is_refused_with_alternatives(tokenizer: PromptTokenizer) -> None:
    with pytest.raises(PromptError, match=r"'yes' is \d tokens.*single tokens: \['YES'"):
        tokenizer.label_tokens("yes", "NO")


def test_a_text_of_another_layout_is_refused(tokenizer: PromptTokenizer) -> None:
    with pytest.raises(PromptError, match="'compact'"):
        tokenizer.encode_query("nurse")
    with pytest.raises(PromptError, match="'compact'"):
        tokenizer.encode_item("nurse")
