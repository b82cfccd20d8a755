"""The prompt contract: a file that reads back, and every way in which a tokenizer cannot keep it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.errors import PromptError
from mis_scoring.core.layouts import chat_layout, compact_layout
from mis_scoring.core.prompt import PromptLayout
from tests.chat_tokenizer import CHAT_TOKENS, qwen_words, smollm_words, write_chat_tokenizer

LABELER = Path(__file__).parents[2] / "labelers" / "esco-small"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
CHAT = PromptContract(layout=chat_layout(), answers=("Yes", "No"))
COMPACT = PromptContract(layout=compact_layout("<empty_output>"), answers=("Yes", "No"))


@pytest.fixture(scope="module", params=[smollm_words, qwen_words], ids=["smollm", "qwen"])
def tokenizer_json(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chat_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json", words=request.param())


@pytest.fixture(scope="module")
def smollm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chat_tokenizer(tmp_path_factory.mktemp("smollm") / "tokenizer.json")


def only_fault(contract: PromptContract, tokenizer_json: Path) -> str:
    (fault,) = contract.faults(tokenizer_json)
    return fault


@pytest.mark.parametrize("contract", [CHAT, COMPACT], ids=["chat", "compact"])
def test_both_layouts_hold_with_both_ways_of_cutting_words(contract: PromptContract, tokenizer_json: Path) -> None:
    assert contract.faults(tokenizer_json) == []
    contract.require(tokenizer_json)
    labels = contract.labels(tokenizer_json)
    assert [contract.tokenizer(tokenizer_json).text_of(i) for i in labels.ids] == ["Yes", "No"]


def test_the_bundled_labeler_keeps_its_contract() -> None:
    artifact = LabelerArtifact.load(LABELER)
    assert PromptContract.of(artifact.prompt, artifact.label_tokens).faults(LABELER / "tokenizer.json") == []


@given(profile=TEXTS, qualification=TEXTS, at=st.integers(0, 20), token=st.sampled_from(CHAT_TOKENS))
def test_no_text_splits_otherwise_or_speaks_for_the_template(
    smollm: Path, profile: str, qualification: str, at: int, token: str
) -> None:
    tokenizer = CHAT.tokenizer(smollm)
    spelled = profile[:at] + token + profile[at:]
    assert list(tokenizer.wrong_splits([spelled], [qualification, token])) == []
    query = tokenizer.encode_query(CHAT.layout.render_query(spelled))
    prefix = tokenizer.template_ids(CHAT.layout.query_prefix)
    assert query[: len(prefix)] == prefix
    assert set(tokenizer.special_tokens.values()).isdisjoint(query[len(prefix) :])


# --- answers


def test_an_answer_of_two_tokens_is_refused_with_spellings_that_are_one(smollm: Path) -> None:
    fault = only_fault(replace(CHAT, answers=("YES", "No")), smollm)
    assert re.match(
        r"answer 'YES' is \d tokens at the answer position, one is needed; single tokens: 'yes', 'Yes'", fault
    )


def test_an_answer_without_a_spelling_of_one_token_is_refused_with_the_usual_ones(smollm: Path) -> None:
    fault = only_fault(replace(CHAT, answers=("Yes", "unsupported")), smollm)
    assert "'Yes'" in fault
    assert "'No'" in fault


@pytest.mark.parametrize("answer", ["", "<|im_end|>"])
def test_an_answer_that_is_nothing_or_a_special_token_is_refused(answer: str, smollm: Path) -> None:
    faults = replace(CHAT, answers=(answer, "No")).faults(smollm)
    assert any(fault.startswith(f"answer {answer!r}") for fault in faults)


def test_two_equal_answers_are_refused(smollm: Path) -> None:
    assert "both answers" in only_fault(replace(CHAT, answers=("Yes", "Yes")), smollm)


def test_an_answer_is_looked_at_where_it_stands(smollm: Path) -> None:
    """Alone 'Yes' is one token; behind a blank it joins that, and the model never says it there."""
    layout = replace(COMPACT.layout, name="plain", item_suffix="<empty_output> ")
    contract = PromptContract(layout=layout, answers=("Yes", "No"))
    assert contract.labels(smollm)
    faults = contract.faults(smollm)
    assert len(faults) == 2
    assert all("is joined with what stands before it" in fault for fault in faults)


# --- the template


def test_a_readout_that_is_no_special_token_is_refused_with_those_that_are(smollm: Path) -> None:
    fault = only_fault(PromptContract(layout=compact_layout("<|readout|>"), answers=("Yes", "No")), smollm)
    assert "'<|readout|>'" in fault
    assert "'<empty_output>'" in fault


def test_a_readout_of_two_special_tokens_is_refused(smollm: Path) -> None:
    contract = PromptContract(layout=compact_layout("<empty_output><|im_end|>"), answers=("Yes", "No"))
    assert "one existing special token" in only_fault(contract, smollm)


def test_a_chat_layout_for_a_model_without_its_markers_is_refused(tmp_path: Path) -> None:
    path = write_chat_tokenizer(tmp_path / "tokenizer.json", special_tokens=("<|im_start|>",))
    faults = CHAT.faults(path)
    assert [fault.partition(":")[0] for fault in faults] == ["query_prefix", "item_suffix"]
    assert all("'<|im_end|>' is no special token" in fault for fault in faults)


def test_a_special_token_where_only_text_is_read_is_refused(smollm: Path) -> None:
    layout = replace(CHAT.layout, query_suffix="<|im_end|>\nQualification:")
    assert "query_suffix: '<|im_end|>' would be read as plain text" in only_fault(replace(CHAT, layout=layout), smollm)


def test_an_item_without_an_end_is_refused(smollm: Path) -> None:
    layout = replace(CHAT.layout, item_suffix="")
    assert "item_suffix is empty" in "\n".join(replace(CHAT, layout=layout).faults(smollm))


# --- the split


@pytest.mark.parametrize(
    ("query_suffix", "item_prefix"),
    [("\nQualification: ", ""), ("\nQualification:\n", ""), ("\n", "Qualification: "), ("\nQual", "ification: ")],
)
def test_a_border_inside_a_word_is_refused_with_a_pair_that_shows_it(
    query_suffix: str, item_prefix: str, smollm: Path
) -> None:
    layout = replace(CHAT.layout, query_suffix=query_suffix, item_prefix=item_prefix)
    fault = only_fault(replace(CHAT, layout=layout), smollm)
    assert re.search(r"for \d+ of \d+ awkward pairs, as profile '.*' with qualification '.*'", fault)


# --- the tokenizer


def test_an_added_token_of_the_template_that_a_profile_could_say_is_refused(tmp_path: Path) -> None:
    path = write_chat_tokenizer(tmp_path / "tokenizer.json", unspecial=["<think>"])
    assert CHAT.faults(path) == []
    layout = replace(CHAT.layout, item_suffix=CHAT.layout.item_suffix + "<think>")
    assert "a profile that spells '<think>'" in only_fault(replace(CHAT, layout=layout), path)


@pytest.mark.parametrize("setting", ["truncation", "padding"])
def test_a_tokenizer_that_cuts_or_fills_prompts_is_refused(setting: str, smollm: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(smollm))
    if setting == "truncation":
        tokenizer.enable_truncation(8_000)
    else:
        tokenizer.enable_padding()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert f"sets {setting}" in only_fault(CHAT, tmp_path / "tokenizer.json")


@pytest.mark.parametrize("content", [None, "", "{}", '{"model": {"type": "Own"}}'])
def test_a_tokenizer_that_cannot_be_read_is_refused(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    assert only_fault(CHAT, tmp_path / "tokenizer.json").startswith("tokenizer.json cannot be read")


def test_a_refusal_lists_all_faults_at_once(smollm: Path) -> None:
    layout = replace(compact_layout("<|readout|>"), query_suffix="\nQualification: ", item_prefix="")
    with pytest.raises(PromptError) as caught:
        PromptContract(layout=layout, answers=("YES", "NAY")).require(smollm)
    lines = str(caught.value).splitlines()
    assert "4 fault(s)" in lines[0]
    assert [re.match(r"  - (answer '\w+'|\w+)", line)[1] for line in lines[1:]] == [  # type: ignore[index]
        "item_suffix",
        "answer 'YES'",
        "answer 'NAY'",
        "query",
    ]


# --- the file


@given(parts=st.tuples(*[TEXTS] * 5), answers=st.tuples(TEXTS, TEXTS).filter(lambda pair: pair[0] != pair[1]))
def test_a_contract_reads_back(tmp_path_factory: pytest.TempPathFactory, parts: Any, answers: tuple[str, str]) -> None:
    names = ("name", "query_prefix", "query_suffix", "item_prefix", "item_suffix")
    contract = PromptContract(layout=PromptLayout(**dict(zip(names, parts, strict=True))), answers=answers)
    path = tmp_path_factory.getbasetemp() / "contract.json"
    contract.save(path)
    assert PromptContract.load(path) == contract


def test_the_file_has_the_keys_of_a_labeler(tmp_path: Path) -> None:
    CHAT.save(tmp_path / "contract.json")
    content = json.loads((tmp_path / "contract.json").read_text(encoding="utf-8"))
    assert set(content) == {"prompt", "label_tokens"}
    assert content["label_tokens"] == {"yes": "Yes", "no": "No"}
    assert content["prompt"] == vars(CHAT.layout)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"prompt": {"name": "chat"}}, "prompt: its keys are name; expected"),
        ({"label_tokens": {"yes": "Yes", "no": "Yes"}}, "both answers are 'Yes'"),
        ({"label_tokens": {"yes": "Yes", "no": 5}}, "no is 5; it must be a text"),
        ({"threshold": 0.5}, "threshold is unknown"),
    ],
)
def test_a_broken_file_is_refused(change: dict[str, Any], named: str, tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    path.write_text(json.dumps(CHAT.as_dict() | change))
    with pytest.raises(PromptError, match=re.escape(named)):
        PromptContract.load(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "{}"])
def test_a_file_that_is_no_contract_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "contract.json").write_text(text)
    with pytest.raises(PromptError, match="contract"):
        PromptContract.load(tmp_path / "contract.json")
