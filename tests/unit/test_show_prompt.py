"""A prompt shown token by token: as it is packed, with nothing that could play with the terminal."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from jobs.errors import MissingRequirementError
from jobs.labeler.render_prompt import print_prompt
from jobs.labeler.show_prompt import find_contract, prompt_document, show_prompt
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.errors import PromptError
from mis_scoring.core.layouts import chat_layout
from tests.chat_tokenizer import write_chat_tokenizer
from tests.tiny_labeler import write_tiny_labeler

CHAT = PromptContract(layout=chat_layout("Decide."), answers=("Yes", "No"))
AWKWARD = "nurse [bold]x[/bold] \x1b[31m <|im_end|> \U0001f600 2012"


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chat_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


def printed(document: dict[str, object]) -> str:
    console = Console(file=io.StringIO(), width=160, force_terminal=True, color_system=None)
    print_prompt(document, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_tokens_of_one_pair_are_its_prompt(tokenizer_json: Path) -> None:
    rows = show_prompt(CHAT, tokenizer_json, "nurse", "tax law")
    whole = CHAT.layout.render_query("nurse") + CHAT.layout.render_item("tax law")
    assert "".join(row["token"] for row in rows) == whole
    assert [row["index"] for row in rows] == [row["position"] for row in rows] == list(range(len(rows)))


def test_the_answer_is_read_at_the_last_token_of_each_item(tokenizer_json: Path) -> None:
    rows = show_prompt(CHAT, tokenizer_json, "nurse", "tax law", "5+ years")
    ends = [i for i, row in enumerate(rows) if i + 1 == len(rows) or rows[i + 1]["item"] != row["item"]]
    assert [row["index"] for row in rows if row["is_readout"]] == ends[1:]  # the first is the end of the query


def test_every_item_starts_at_the_position_behind_the_query(tokenizer_json: Path) -> None:
    rows = show_prompt(CHAT, tokenizer_json, "nurse", "tax law", "5+ years")
    n_query = sum(row["segment"] == "query" for row in rows)
    for item in (0, 1):
        positions = [row["position"] for row in rows if row["item"] == item]
        assert positions == list(range(n_query, n_query + len(positions)))


def test_a_special_token_in_a_profile_is_shown_as_the_text_it_is(tokenizer_json: Path) -> None:
    plain = show_prompt(CHAT, tokenizer_json, "nurse", "tax law")
    spelled = show_prompt(CHAT, tokenizer_json, "nurse <|im_end|>", "tax law")
    assert sum(row["is_special"] for row in plain) == sum(row["is_special"] for row in spelled) == 5


def test_a_document_shows_a_contract_that_does_not_hold(tokenizer_json: Path) -> None:
    document = prompt_document(replace(CHAT, answers=("YES", "No")), tokenizer_json, "nurse", "tax law")
    assert len(document["answers"]["yes"]["ids"]) > 1
    assert len(document["answers"]["no"]["ids"]) == 1
    assert len(document["faults"]) == 1
    assert "fault: answer 'YES'" in printed(document)


def test_no_control_character_and_no_markup_of_a_profile_reaches_the_terminal(tokenizer_json: Path) -> None:
    text = printed(prompt_document(CHAT, tokenizer_json, AWKWARD, "tax\tlaw"))
    assert text.replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\n", "").isprintable()
    assert "\\x1b" in text
    assert "\\t" in text
    assert text.count("]") >= 2


def test_a_token_that_looks_like_markup_is_printed_as_it_is(tmp_path: Path) -> None:
    path = write_chat_tokenizer(tmp_path / "tokenizer.json", special_tokens=("[bold]", "[/INST]"))
    layout = replace(CHAT.layout, name="inst", query_prefix="[bold]", item_suffix="[/INST]")
    text = printed(prompt_document(replace(CHAT, layout=layout), path, "nurse", "tax law"))
    assert "[bold]" in text
    assert "[/INST]" in text


def test_each_token_is_one_line_and_the_answer_position_is_marked(tokenizer_json: Path) -> None:
    document = prompt_document(CHAT, tokenizer_json, "nurse", "tax law", "5+ years")
    lines = printed(document).splitlines()
    assert sum("the answer is read here" in line for line in lines) == 2
    assert sum("special" in line for line in lines) == 7
    yes = document["answers"]["yes"]["ids"][0]
    assert any(line == f"yes 'Yes' is token {yes}" for line in lines)


def test_a_work_folder_and_a_finished_labeler_are_found(tokenizer_json: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "model").mkdir(parents=True)
    CHAT.save(work / "contract.json")
    (work / "model" / "tokenizer.json").write_bytes(tokenizer_json.read_bytes())
    assert find_contract(work) == (CHAT, work / "model" / "tokenizer.json")
    artifact = write_tiny_labeler(tmp_path / "labeler")
    contract, path = find_contract(tmp_path / "labeler")
    assert (contract.layout, contract.label_tokens) == (artifact.prompt, artifact.label_tokens)
    assert path == tmp_path / "labeler" / "tokenizer.json"


def test_a_folder_without_a_prompt_is_refused_with_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match=r"contract\.json and model/tokenizer\.json"):
        find_contract(tmp_path)


def test_a_broken_contract_file_is_refused(tokenizer_json: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_bytes(tokenizer_json.read_bytes())
    (tmp_path / "contract.json").write_text("{}")
    with pytest.raises(PromptError, match="prompt is missing"):
        find_contract(tmp_path)
