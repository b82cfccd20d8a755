"""The prompt contract: a layout and its answers as one value, and whether a tokenizer can keep it.

One layout an artifact, on every path (paper, section 3.1). Checked before anything is trained, for another layout,
answer or tokenizer is another scorer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mis_scoring.core.artifact_content import content_faults
from mis_scoring.core.errors import PromptError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.prompt_faults import answer_faults, inert_faults, split_faults, template_faults
from mis_scoring.core.tokenizer import PromptTokenizer

FIELDS = ("prompt", "label_tokens")


@dataclass(frozen=True, kw_only=True)
class PromptContract:
    """What a labeler is asked and how it answers.

    Attributes:
        answers: the answer strings, YES first.
    """

    layout: PromptLayout
    answers: tuple[str, str]

    @classmethod
    def of(cls, layout: PromptLayout, label_tokens: Mapping[str, str]) -> "PromptContract":
        """Return the contract of an artifact's layout and label tokens (keys `yes` and `no`)."""
        return cls(layout=layout, answers=(label_tokens["yes"], label_tokens["no"]))

    @property
    def label_tokens(self) -> dict[str, str]:
        """The answers as `labeler.json` has them."""
        return {"yes": self.answers[0], "no": self.answers[1]}

    def as_dict(self) -> dict[str, Any]:
        """Return the content of `contract.json`."""
        return {"prompt": dict(vars(self.layout)), "label_tokens": self.label_tokens}

    def save(self, path: Path) -> None:
        """Write a contract file."""
        text = json.dumps(self.as_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "PromptContract":
        """Read a contract file.

        Raises:
            PromptError: lists every fault of the file.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PromptError(f"contract {path} cannot be read: {error}") from error
        _raise_if(f"contract {path}", _file_faults(content))
        return cls.of(PromptLayout(**content["prompt"]), content["label_tokens"])

    def tokenizer(self, tokenizer_json: Path) -> PromptTokenizer:
        """Return a tokenizer with this layout."""
        return PromptTokenizer(tokenizer_json, self.layout)

    def labels(self, tokenizer_json: Path) -> LabelTokens:
        """Return the ids of the answers.

        Raises:
            PromptError: an answer is not one token.
        """
        return self.tokenizer(tokenizer_json).label_tokens(*self.answers)

    def faults(self, tokenizer_json: Path) -> list[str]:
        """Return why a tokenizer cannot keep this contract, one sentence a fault."""
        try:
            tokenizer = self.tokenizer(tokenizer_json)
        except Exception as error:  # tokenizers raises a bare Exception for a file that it does not know
            return [f"tokenizer.json cannot be read: {error}"]
        return [
            *_setting_faults(tokenizer_json),
            *template_faults(tokenizer),
            *answer_faults(tokenizer, self.answers),
            *inert_faults(tokenizer),
            *split_faults(tokenizer),
        ]

    def require(self, tokenizer_json: Path) -> None:
        """Refuse a tokenizer that cannot keep this contract.

        Raises:
            PromptError: lists every fault.
        """
        _raise_if(f"prompt contract {self.layout.name!r} with {tokenizer_json}", self.faults(tokenizer_json))


def _setting_faults(tokenizer_json: Path) -> list[str]:
    content = json.loads(tokenizer_json.read_text(encoding="utf-8"))
    return [
        f"tokenizer.json sets {name}, which would change prompts silently: set it to null"
        for name in ("truncation", "padding")
        if content.get(name)
    ]


def _file_faults(content: Any) -> list[str]:
    if not isinstance(content, dict):
        return ["it is no JSON object"]
    unknown = [f"{name} is unknown" for name in sorted(set(content) - set(FIELDS))]
    known = {name: content[name] for name in FIELDS if name in content}
    return unknown + [fault for fault in content_faults(known) if fault.startswith(FIELDS)]


def _raise_if(what: str, faults: list[str]) -> None:
    if faults:
        raise PromptError("\n".join([f"{what}: {len(faults)} fault(s)", *(f"  - {fault}" for fault in faults)]))
