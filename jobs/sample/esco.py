"""Read ESCO v1.1.1: skill concepts with their labels and their places in the hierarchy.

The file is a table of labels (id, description, hierarchy_levels, type). ESCO is a work of the European Commission
(see NOTICE); it is read as it is, except that runs of white space become one space.
"""

import ast
import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ESCO_FILE = "esco_v_1_1_1_data_formatted.csv"


@dataclass(frozen=True, kw_only=True)
class Concept:
    """One ESCO skill.

    Attributes:
        alternative_labels: distinct, without those that differ from the preferred label by case alone.
        groups: codes of the deepest group on each of its paths, such as "S4.5.0" or "K0613"; the first is its home.
    """

    concept_id: str
    preferred_label: str
    alternative_labels: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def is_knowledge(self) -> bool:
        """Tell whether it is something known (a noun phrase) rather than something done."""
        return self.groups[0].startswith("K")


@dataclass(frozen=True, kw_only=True)
class Esco:
    """The classification, in the file's order (by concept id)."""

    concepts: Mapping[str, Concept]
    group_names: Mapping[str, str]
    members_of: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Concept ids by group code."""


def read_esco(path: Path) -> Esco:
    """Read the classification.

    Raises:
        FileNotFoundError: no file there.
        KeyError: a column is missing.
    """
    preferred: dict[str, str] = {}
    alternatives: dict[str, list[str]] = {}
    groups: dict[str, tuple[str, ...]] = {}
    names: dict[str, str] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            label = " ".join(row["description"].split())
            if row["type"] == "preferredLabel":
                preferred[row["id"]] = label
                groups[row["id"]] = _deepest_groups(row["hierarchy_levels"])
            elif row["type"] == "altLabels":
                alternatives.setdefault(row["id"], []).append(label)
            else:
                names[row["id"]] = label
    concepts = {
        concept_id: Concept(
            concept_id=concept_id,
            preferred_label=label,
            alternative_labels=_other_than(label, alternatives.get(concept_id, [])),
            groups=groups[concept_id],
        )
        for concept_id, label in preferred.items()
    }
    return Esco(concepts=concepts, group_names=names, members_of=_by_group(concepts))


def _deepest_groups(levels: str) -> tuple[str, ...]:
    paths = ast.literal_eval(levels)
    return tuple(dict.fromkeys([code for code in path if code][-1] for path in paths))


def _other_than(preferred: str, labels: list[str]) -> tuple[str, ...]:
    own = preferred.casefold()
    return tuple(dict.fromkeys(label for label in labels if label and label.casefold() != own))


def _by_group(concepts: Mapping[str, Concept]) -> dict[str, tuple[str, ...]]:
    members: dict[str, list[str]] = {}
    for concept in concepts.values():
        for group in concept.groups:
            members.setdefault(group, []).append(concept.concept_id)
    return {group: tuple(ids) for group, ids in members.items()}
