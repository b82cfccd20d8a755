"""Which ESCO concepts training never meets, neither in a profile nor as a candidate: the *unseen concepts* slice."""

import hashlib

from jobs.sample.catalog import CatalogEntry, default_concepts, sample_catalog
from jobs.sample.draw import SKILL_PREFIX
from jobs.sample.esco import Esco

UNSEEN_ONE_IN = 5  # of the concepts outside the default catalog


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


def _concept(entry: CatalogEntry) -> str:
    return entry.qualification_id.removeprefix(SKILL_PREFIX)


def _digest(value: str) -> int:
    return int.from_bytes(hashlib.sha256(f"semlabel unseen/{value}".encode()).digest()[:4], "big")
