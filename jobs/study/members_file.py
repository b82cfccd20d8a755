"""Training members of the study as one small file: profiles, candidate texts by number, answers."""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class TrainingMember:
    """One member with labelled candidates, in drawn order."""

    profile_text: str
    qualifications: Sequence[str]
    answers: Sequence[bool]


def write_members(path: Path, members: Iterable[TrainingMember]) -> None:
    """Write one member a line and the candidate texts last, each once."""
    numbers: dict[str, int] = {}
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=9) as file:
        for member in members:
            items = [numbers.setdefault(text, len(numbers)) for text in member.qualifications]
            line = {
                "profile": member.profile_text,
                "items": items,
                "answers": "".join("01"[answer] for answer in member.answers),
            }
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        file.write(json.dumps({"texts": list(numbers)}, ensure_ascii=False) + "\n")


def read_members(path: Path) -> list[TrainingMember]:
    """Read what `write_members` wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    texts = lines.pop()["texts"]
    return [
        TrainingMember(
            profile_text=line["profile"],
            qualifications=[texts[i] for i in line["items"]],
            answers=[answer == "1" for answer in line["answers"]],
        )
        for line in lines
    ]


def first_pairs(members: Iterable[TrainingMember], n_pairs: int) -> Iterator[TrainingMember]:
    """Yield the first members with `n_pairs` pairs in all, the last one cut; smaller sizes lie within larger ones.

    Raises:
        ValueError: there are fewer pairs.
    """
    left = n_pairs
    for member in members:
        if left <= 0:
            return
        n = min(left, len(member.answers))
        left -= n
        yield TrainingMember(
            profile_text=member.profile_text, qualifications=member.qualifications[:n], answers=member.answers[:n]
        )
    if left > 0:
        raise ValueError(f"{n_pairs} pairs wanted, {n_pairs - left} are there: prepare more members")
