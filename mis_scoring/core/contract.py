"""The prompt contract: one layout and two answer strings, as `contract.json`."""

import json
from dataclasses import dataclass
from pathlib import Path

from mis_scoring.core.errors import PromptError
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.tokenizer import PromptTokenizer


@dataclass(frozen=True, kw_only=True)
class PromptContract:
    """How a pair is asked about, and which two tokens answer.

    Attributes:
        answers: YES and NO, as strings.
    """

    layout: PromptLayout
    answers: tuple[str, str]

    @classmethod
    def load(cls, path: Path) -> "PromptContract":
        """Read `contract.json`."""
        content = json.loads(path.read_text(encoding="utf-8"))
        answers = content["label_tokens"]
        return cls(layout=PromptLayout(**content["prompt"]), answers=(answers["yes"], answers["no"]))

    def save(self, path: Path) -> None:
        """Write `contract.json`."""
        yes, no = self.answers
        content = {"prompt": vars(self.layout), "label_tokens": {"yes": yes, "no": no}}
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def faults(self, tokenizer_json: Path) -> list[str]:
        """Return what of the contract a tokenizer does not keep."""
        try:
            PromptTokenizer(tokenizer_json, self.layout).label_tokens(*self.answers)
        except PromptError as error:
            return [str(error)]
        return []

    def require(self, tokenizer_json: Path) -> None:
        """Refuse a tokenizer that does not keep the contract.

        Raises:
            PromptError: lists all faults.
        """
        if faults := self.faults(tokenizer_json):
            raise PromptError("\n".join(faults))
