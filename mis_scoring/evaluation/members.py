"""Evaluation members: a profile, its retrieved candidates, and the known answers."""

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

SUPPORTED = "supported"
UNSUPPORTED = "unsupported"
UNKNOWN = "unknown"
ANSWERS = (SUPPORTED, UNSUPPORTED, UNKNOWN)


@dataclass(frozen=True, kw_only=True)
class EvaluationCandidate:
    """One retrieved pair: its text, its cosine similarity in retrieval, and its answer."""

    qualification_id: str
    category: str
    text: str
    similarity: float
    answer: str

    def __post_init__(self) -> None:
        """Refuse an answer of no meaning."""
        if self.answer not in ANSWERS:
            raise ValueError(f"answer {self.answer!r} of {self.qualification_id}: want one of {ANSWERS}")


@dataclass(frozen=True, kw_only=True)
class EvaluationMember:
    """One member with candidates in rank order; `supported` names all supported entries, retrieved or not."""

    member_id: str
    profile_text: str
    candidates: Sequence[EvaluationCandidate]
    supported: Sequence[str]


def write_members(path: Path, members: Iterable[EvaluationMember]) -> None:
    """Write one JSON document a line, compressed."""
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as file:
        for member in members:
            file.write(json.dumps(asdict(member), ensure_ascii=False) + "\n")


def read_members(path: Path) -> list[EvaluationMember]:
    """Read what `write_members` wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [_member(json.loads(line)) for line in file]


def recall_at_k(members: Sequence[EvaluationMember]) -> float:
    """Return the share of all supported pairs that are among the candidates."""
    found = total = 0
    for member in members:
        retrieved = {candidate.qualification_id for candidate in member.candidates}
        found += len(retrieved & set(member.supported))
        total += len(set(member.supported))
    return found / total if total else float("nan")


def _member(document: dict[str, object]) -> EvaluationMember:
    candidates = document.pop("candidates")
    assert isinstance(candidates, list)
    return EvaluationMember(candidates=[EvaluationCandidate(**c) for c in candidates], **document)  # type: ignore[arg-type]
