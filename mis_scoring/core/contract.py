"""The prompt contract of a labeler as a value: layout and answers, one JSON file, checked against a tokenizer."""

import json
from dataclasses import dataclass
from pathlib import Path

from mis_scoring.core.errors import PromptError
from mis_scoring.core.prompt import PromptLayout


@dataclass(frozen=True, kw_only=True)
class PromptContract:
    """How a pair is put to the model, and which two strings answer it: YES first."""

    layout: PromptLayout
    answers: tuple[str, str]

    @classmethod
    def load(cls, path: Path) -> "PromptContract":
        """Read what `save` wrote."""
        content = json.loads(path.read_text(encoding="utf-8"))
        answers = content["label_tokens"]
        return cls(layout=PromptLayout(**content["prompt"]), answers=(answers["yes"], answers["no"]))

    def save(self, path: Path) -> None:
        """Write the contract as JSON."""
        content = {"prompt": vars(self.layout), "label_tokens": dict(zip(("yes", "no"), self.answers, strict=True))}
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def faults(self, tokenizer_json: Path) -> list[str]:
        """Return what does not hold with a tokenizer, one sentence a fault."""
        from mis_scoring.core.tokenizer import PromptTokenizer

        tokenizer = PromptTokenizer(tokenizer_json, self.layout)
        try:
            tokenizer.label_tokens(*self.answers)
            tokenizer.check_split(["A profile", ""], ["a skill", "5+ years"])
        except PromptError as error:
            return [str(error)]
        return []

    def require(self, tokenizer_json: Path) -> None:
        """Refuse a contract that does not hold.

        Raises:
            PromptError: lists every fault.
        """
        faults = self.faults(tokenizer_json)
        if faults:
            raise PromptError("\n".join([f"the contract has {len(faults)} fault(s)", *(f"  - {f}" for f in faults)]))
