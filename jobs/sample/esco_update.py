"""A later version of ESCO, as far as its file tells: which skills went, which are new, which are called otherwise.

The file (id, description) gives each skill one text: its preferred label, its alternative labels and its description,
with nothing between them and no hierarchy. So a label is read only where its end is certain enough; a skill whose label
can't be told from its text keeps the one that it had, and a new one is left out.
"""

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.sample.esco import Concept, Esco

LATER_ESCO_FILE = "esco_later_skills.csv"
_MOST_WORDS = 6  # of a new skill's label; a longer one is hardly ever one label
_OPEN_ENDS = frozenset(("a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"))


@dataclass(frozen=True, kw_only=True)
class EscoUpdate:
    """What a later version changes of some skills; ids without a prefix.

    Attributes:
        renamed, added: preferred label by id.
        retired: ids that the later version does not have.
        unread: skills whose text changed in a way that does not show a label; they stay as they are.
    """

    renamed: Mapping[str, str]
    added: Mapping[str, str]
    retired: Sequence[str]
    unread: int


def read_later_texts(path: Path) -> dict[str, str]:
    """Return the text of each skill by id.

    Raises:
        FileNotFoundError: no file there.
        KeyError: a column is missing.
    """
    with path.open(encoding="utf-8", newline="") as file:
        return {row["id"].rsplit("/", 1)[-1]: " ".join(row["description"].split()) for row in csv.DictReader(file)}


def esco_update(esco: Esco, later: Mapping[str, str], concepts: Sequence[Concept]) -> EscoUpdate:
    """Compare the skills of a catalog with the later version.

    New skills come in the proportion that the catalog's skills are of all, in the order of a digest of their ids: the
    later file does not say into which group of ESCO they belong.
    """
    labels = {c.concept_id: later_label(c, later[c.concept_id]) for c in concepts if c.concept_id in later}
    before = {concept.concept_id: concept.preferred_label for concept in concepts}
    taken = {label.casefold() for label in before.values()}
    renamed = {
        key: label for key, label in labels.items() if label and label != before[key] and label.casefold() not in taken
    }
    new = sorted(later.keys() - esco.concepts.keys(), key=lambda key: hashlib.sha256(key.encode()).hexdigest())
    wanted = round(len(new) * len(concepts) / len(esco.concepts))
    found = ((key, new_label(later[key])) for key in new)
    added = {key: label for key, label in found if label and label.casefold() not in taken}
    return EscoUpdate(
        renamed=renamed,
        added=dict(list(added.items())[:wanted]),
        retired=[concept.concept_id for concept in concepts if concept.concept_id not in later],
        unread=sum(label is None for label in labels.values()),
    )


def later_label(concept: Concept, text: str) -> str | None:
    """Return a skill's later preferred label; None where its end can't be told.

    It is the label that it had where the text still starts with it; else what stands before the first label that was
    known, which now is an alternative one.
    """
    known = (concept.preferred_label, *concept.alternative_labels)
    spaced = f"{text} "
    if spaced.startswith(f"{concept.preferred_label} "):
        return concept.preferred_label
    if heads := [label for label in known if spaced.startswith(f"{label} ")]:
        return max(heads, key=len)
    ends = [place for label in known if (place := spaced.find(f" {label} ")) > 0]
    return _closed(text[: min(ends)]) if ends else None


def new_label(text: str) -> str | None:
    """Return a new skill's preferred label: what stands before its first word comes again; None where that is unsure.

    Alternative labels often start as the preferred one does.
    """
    words = text.split()
    again = next((place for place, word in enumerate(words[1:], start=1) if word == words[0]), None)
    return None if again is None else _closed(" ".join(words[:again]))


def _closed(label: str) -> str | None:
    """Refuse what looks like several labels (a word twice, an acronym at the end), or like a part of one."""
    words = label.split()
    content = [word.casefold() for word in words if word not in _OPEN_ENDS]
    is_one = 2 <= len(words) <= _MOST_WORDS and len(set(content)) == len(content) and not label[0].isupper()
    is_whole = words[-1] not in _OPEN_ENDS and sum(letter.isupper() for letter in words[-1]) < 2
    return label if is_one and is_whole else None
