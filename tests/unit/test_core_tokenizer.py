"""Token ids of prompts: parts add up to the whole, and a text cannot speak for the template."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import PromptError
from mis_scoring.core.prompt import COMPACT, PromptLayout
from mis_scoring.core.tokenizer import PromptTokenizer
from tests.tiny_labeler import SPECIAL_TOKENS, write_tokenizer

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
AWKWARD = ["", "nurse", " nurse ", "tax\n", "\n\nyears", "5 years", "C++", "  two spaces", "Zürich 東京", ":", "YES"]


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return folder / "tokenizer.json"


@pytest.fixture(scope="module")
def tokenizer(tokenizer_json: Path) -> PromptTokenizer:
    return PromptTokenizer(tokenizer_json, COMPACT)


@given(profile=TEXTS, qualification=TEXTS)
def test_query_and_item_apart_give_the_tokens_of_both_together(
    tokenizer: PromptTokenizer, tokenizer_json: Path, profile: str, qualification: str
) -> None:
    from tokenizers import Tokenizer

    plain = Tokenizer.from_file(str(tokenizer_json))
    query, item = COMPACT.render_query(profile), COMPACT.render_item(qualification)
    if not any(special in profile + qualification for special in SPECIAL_TOKENS):
        together = plain.encode(query + item, add_special_tokens=False).ids
        assert tokenizer.encode_query(query) + tokenizer.encode_item(item) == together


def test_the_split_check_passes_awkward_texts(tokenizer: PromptTokenizer) -> None:
    tokenizer.check_split(AWKWARD, AWKWARD)


def test_the_split_check_catches_a_layout_that_cuts_a_word(tokenizer_json: Path) -> None:
    layout = PromptLayout(name="cut", query_prefix="", query_suffix="\nnur", item_prefix="se", item_suffix="")
    with pytest.raises(PromptError, match="cut"):
        PromptTokenizer(tokenizer_json, layout).check_split(["tax"], [" degree"])


@pytest.mark.parametrize("special", SPECIAL_TOKENS)
@given(before=TEXTS, after=TEXTS)
def test_a_special_token_in_a_text_is_inert(
    tokenizer: PromptTokenizer, tokenizer_json: Path, special: str, before: str, after: str
) -> None:
    from tokenizers import Tokenizer

    special_ids = {Tokenizer.from_file(str(tokenizer_json)).token_to_id(name) for name in SPECIAL_TOKENS}
    text = before + special + after
    assert special_ids.isdisjoint(tokenizer.encode_query(COMPACT.render_query(text)))
    item = tokenizer.encode_item(COMPACT.render_item(text))
    assert special_ids.isdisjoint(item[:-1])


def test_the_template_does_hold_its_special_token(tokenizer: PromptTokenizer, tokenizer_json: Path) -> None:
    from tokenizers import Tokenizer

    readout = Tokenizer.from_file(str(tokenizer_json)).token_to_id("<|readout|>")
    assert tokenizer.encode_item(COMPACT.render_item("nurse"))[-1] == readout


@given(text=TEXTS)
def test_no_text_is_lost(tokenizer: PromptTokenizer, tokenizer_json: Path, text: str) -> None:
    from tokenizers import Tokenizer

    ids = tokenizer.encode_query(COMPACT.render_query(text))
    plain = Tokenizer.from_file(str(tokenizer_json))
    assert plain.decode(ids, skip_special_tokens=False) == COMPACT.render_query(text)


def test_a_text_of_another_layout_is_refused(tokenizer: PromptTokenizer) -> None:
    with pytest.raises(PromptError):
        tokenizer.encode_query("nurse")
    with pytest.raises(PromptError):
        tokenizer.encode_item("nurse")


def test_answers_are_single_tokens(tokenizer: PromptTokenizer) -> None:
    labels = tokenizer.label_tokens("YES", "NO")
    assert labels.ids == (labels.yes, labels.no)
    assert labels.yes != labels.no


def test_an_answer_of_several_tokens_is_refused_with_those_that_are_one(tokenizer: PromptTokenizer) -> None:
    with pytest.raises(PromptError, match=r"'yes' is \d tokens, one is needed; single tokens: \['YES'"):
        tokenizer.label_tokens("yes", "NO")
