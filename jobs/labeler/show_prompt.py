"""Show a rendered prompt token by token: what the model reads, where the answer is read, and which tokens answer.

`semlabel labeler show-prompt` prints it. The text of a profile is shown to who asks for it, and logged nowhere.
"""

from pathlib import Path
from typing import Any

from jobs.errors import MissingRequirementError
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.errors import PromptError
from mis_scoring.core.packing import QUERY_SEGMENT, pack
from mis_scoring.core.tokenizer import PromptTokenizer


def show_prompt(
    contract: PromptContract, tokenizer_json: Path, profile_text: str, *qualification_texts: str
) -> list[dict[str, Any]]:
    """Return one row a token of the packed request of a profile and its qualifications.

    Returns:
        `index` in the sequence, `position` that the model is told, `segment` (query or item), `item` (0-based, None in
        the query), `id`, `token` (its text), `is_special`, and `is_readout`: the answer is read there.
    """
    tokenizer = contract.tokenizer(tokenizer_json)
    query = tokenizer.encode_query(contract.layout.render_query(profile_text))
    items = [tokenizer.encode_item(contract.layout.render_item(text)) for text in qualification_texts]
    packed = pack(query, items)
    special, readouts = set(tokenizer.special_tokens.values()), set(packed.readout_rows.tolist())
    columns = (packed.token_ids.tolist(), packed.position_ids.tolist(), packed.segment_ids.tolist())
    return [
        {
            "index": index,
            "position": position,
            "segment": "query" if segment == QUERY_SEGMENT else "item",
            "item": None if segment == QUERY_SEGMENT else segment - 1,
            "id": token_id,
            "token": tokenizer.text_of(token_id),
            "is_special": token_id in special,
            "is_readout": index in readouts,
        }
        for index, (token_id, position, segment) in enumerate(zip(*columns, strict=True))
    ]


def prompt_document(
    contract: PromptContract, tokenizer_json: Path, profile_text: str, *qualification_texts: str
) -> dict[str, Any]:
    """Return all that there is to see: `layout`, `answers` with their ids, `faults` of the contract, `tokens`."""
    tokenizer = contract.tokenizer(tokenizer_json)
    return {
        "layout": contract.layout.name,
        "answers": {name: _answer(tokenizer, text) for name, text in contract.label_tokens.items()},
        "faults": contract.faults(tokenizer_json),
        "tokens": show_prompt(contract, tokenizer_json, profile_text, *qualification_texts),
    }


def find_contract(folder: Path) -> tuple[PromptContract, Path]:
    """Return the contract and the tokenizer.json of a work folder or of a finished labeler.

    Raises:
        MissingRequirementError: the folder holds neither.
    """
    for contract_file, tokenizer_json in (
        (folder / "contract.json", folder / "model" / "tokenizer.json"),
        (folder / "labeler.json", folder / "tokenizer.json"),
    ):
        if contract_file.is_file() and tokenizer_json.is_file():
            return _read_contract(contract_file), tokenizer_json
    raise MissingRequirementError(
        f"{folder} has no prompt to show: it needs contract.json and model/tokenizer.json (a labeler in the making) or "
        "labeler.json and tokenizer.json (a finished one)"
    )


def _read_contract(path: Path) -> PromptContract:
    if path.name == "contract.json":
        return PromptContract.load(path)
    artifact = LabelerArtifact.load(path.parent)
    return PromptContract.of(artifact.prompt, artifact.label_tokens)


def _answer(tokenizer: PromptTokenizer, text: str) -> dict[str, Any]:
    try:
        ids = tokenizer.answer_ids(text)
    except PromptError:
        ids = tokenizer.text_ids(text)  # what is wrong stands in the faults
    return {"text": text, "ids": ids}
