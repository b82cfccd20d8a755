"""What training never meets, so that memory and understanding can be told apart.

*Unseen concepts*: neither in a training profile nor as a training candidate. *Unseen wordings*: alternative labels, of
the other concepts, that no training profile uses. The sample's members use seen and unseen wordings alike.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace

from jobs.sample.catalog import CatalogEntry, default_concepts, sample_catalog
from jobs.sample.draw import SKILL_PREFIX
from jobs.sample.esco import Concept, Esco

UNSEEN_ONE_IN = 5  # of the concepts outside the default catalog, and of the alternative labels
MIN_SEEN_WORDINGS = 2  # a concept with fewer left keeps all its labels


def unseen_concepts(esco: Esco) -> frozenset[str]:
    """Return a fifth of the concepts outside the default catalog, chosen by a digest of their id."""
    seen = {concept.concept_id for concept in default_concepts(esco)}
    return frozenset(c for c in esco.concepts if c not in seen and _digest(c) % UNSEEN_ONE_IN == 0)


def unseen_catalog(esco: Esco) -> list[CatalogEntry]:
    """Return a catalog whose skills are all unseen; experience, education and licences are those of the default."""
    unseen = unseen_concepts(esco)
    return [e for e in sample_catalog(esco, full=True) if _concept(e) in unseen or e.category != "skill"]


def wide_catalog(esco: Esco) -> list[CatalogEntry]:
    """Return a training catalog of the concepts that are neither in the default catalog nor unseen."""
    others = unseen_concepts(esco) | {concept.concept_id for concept in default_concepts(esco)}
    return [e for e in sample_catalog(esco, full=True) if _concept(e) not in others]


def seen_wordings(esco: Esco) -> Esco:
    """Return the classification with the alternative labels that training profiles may use."""
    return _with_labels(esco, lambda concept: [x for x in concept.alternative_labels if x not in _unseen(concept)])


def unseen_wordings(esco: Esco) -> Esco:
    """Return the classification with the other alternative labels only; many concepts have none."""
    return _with_labels(esco, lambda concept: _unseen(concept))


def _with_labels(esco: Esco, labels: Callable[[Concept], list[str]]) -> Esco:
    concepts = {i: replace(c, alternative_labels=tuple(labels(c))) for i, c in esco.concepts.items()}
    return replace(esco, concepts=concepts)


def _unseen(concept: Concept) -> list[str]:
    labels = concept.alternative_labels
    unseen = [label for label in labels if _digest(f"{concept.concept_id}/{label}") % UNSEEN_ONE_IN == 0]
    return unseen if len(labels) - len(unseen) >= MIN_SEEN_WORDINGS else []


def _concept(entry: CatalogEntry) -> str:
    return entry.qualification_id.removeprefix(SKILL_PREFIX)


def _digest(value: str) -> int:
    return int.from_bytes(hashlib.sha256(f"semlabel unseen/{value}".encode()).digest()[:4], "big")
