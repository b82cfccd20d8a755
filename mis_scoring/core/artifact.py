"""A labeler as one folder: checkpoint, tokenizer, and `labeler.json` with all that decides a label.

What changes a score is in `scorer_id`; what changes a decision or the rounds is in `artifact_id` besides. Files are
safetensors and JSON; digests are checked before anything is loaded.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mis_scoring.core.artifact_content import FIELDS, OPTIONAL_FIELDS, parse_content
from mis_scoring.core.errors import ArtifactError
from mis_scoring.core.identity import digest, file_digest
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.rounds import RoundRule

CHECKPOINT_FILES = ("config.json", "model.safetensors", "tokenizer.json")
_ALLOWED_FILES = {*CHECKPOINT_FILES, "labeler.json", "README.md"}


@dataclass(frozen=True, kw_only=True)
class LabelerArtifact:
    """The content of `labeler.json`.

    Attributes:
        label_tokens: the answer strings, keys `yes` and `no`.
        numeric_profile: dtype, quantisation and readout precision of the scores.
        tie_eps: bound of |margin - reference margin| of the profile's engine.
        domain: what the labeler was evaluated on; `catalog` names the data.
        evaluation: figures, by name.
        digests: SHA-256 of each checkpoint file.
        gate_limits: limits of `semlabel labeler gate` by name, for whoever made it to ask for more than the gate does;
            the stricter one holds. Part of `artifact_id`, not of `scorer_id`; left out of the file where there is none.
    """

    name: str
    prompt: PromptLayout
    label_tokens: Mapping[str, str]
    numeric_profile: Mapping[str, str]
    threshold: float
    round_rule: RoundRule
    tie_eps: float
    domain: Mapping[str, str]
    evaluation: Mapping[str, Any]
    digests: Mapping[str, str]
    gate_limits: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def scorer_id(self) -> str:
        """Digest of what decides a score."""
        parts = ("prompt", "label_tokens", "numeric_profile", "digests")
        return digest({name: value for name, value in self.as_dict().items() if name in parts})

    @cached_property
    def artifact_id(self) -> str:
        """Digest of the whole."""
        return digest(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return the content of `labeler.json`."""
        plain = {name: getattr(self, name) for name in FIELDS}
        plain |= {name: value for name in OPTIONAL_FIELDS if (value := getattr(self, name))}
        plain["prompt"] = vars(self.prompt)
        plain["round_rule"] = vars(self.round_rule)
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in plain.items()}

    def with_changes(self, *, threshold: float | None = None, round_rule: RoundRule | None = None) -> "LabelerArtifact":
        """Return an artifact with the same scorer that decides or stops otherwise."""
        changed = replace(self, threshold=self.threshold if threshold is None else threshold)
        return changed if round_rule is None else replace(changed, round_rule=round_rule)

    def save(self, folder: Path) -> None:
        """Write `labeler.json` beside the checkpoint that `digests` describes."""
        text = json.dumps(self.as_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        (folder / "labeler.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "LabelerArtifact":
        """Read a folder.

        Raises:
            ArtifactError: lists every fault: files, fields, values, digests.
        """
        faults = _file_faults(folder)
        content: dict[str, Any] = {}
        if (folder / "labeler.json").is_file():
            content, wrong = parse_content((folder / "labeler.json").read_text(encoding="utf-8", errors="replace"))
            faults += [f"labeler.json: {fault}" for fault in wrong]
            faults += [] if wrong else _digest_faults(folder, content["digests"])
        if faults:
            raise ArtifactError(str(folder), faults)
        parts = {"prompt": PromptLayout(**content["prompt"]), "round_rule": RoundRule(**content["round_rule"])}
        return cls(**(content | parts))


def digests_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each checkpoint file in a folder."""
    return {name: file_digest(folder / name) for name in CHECKPOINT_FILES}


def _file_faults(folder: Path) -> list[str]:
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    missing = [f"{name} is missing" for name in sorted(_ALLOWED_FILES - found - {"README.md"})]
    unknown = [f"{name} does not belong here (safetensors and JSON only)" for name in sorted(found - _ALLOWED_FILES)]
    return missing + unknown


def _digest_faults(folder: Path, digests: Mapping[str, str]) -> list[str]:
    present = [name for name in CHECKPOINT_FILES if (folder / name).exists()]
    wrong = [name for name in present if file_digest(folder / name) != digests.get(name)]
    return [f"{name} does not match its digest {digests.get(name)!r}: it is another file" for name in wrong]
