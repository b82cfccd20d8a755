"""The sample's catalog: ESCO skills, and experience, education and licences of the project's own lists.

The default holds whole ESCO groups, so that the siblings of a held skill, its hardest negatives, are there too.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.sample.education import FIELDS, LEVEL_TITLES, LEVELS
from jobs.sample.esco import Concept, Esco
from jobs.sample.licences import LICENCES
from jobs.sample.occupations import OCCUPATIONS

N_DEFAULT_SKILLS = 2_700
MAX_SKILLS_PER_GROUP = 40  # a few ESCO groups hold hundreds; without a bound ten of them would be the whole catalog
YEARS = (1, 3, 5, 10)


@dataclass(frozen=True, kw_only=True)
class CatalogEntry:
    """One qualification of the sample: id such as "skill:<esco id>", category, text."""

    qualification_id: str
    category: str
    text: str


def sample_catalog(esco: Esco, *, full: bool = False) -> list[CatalogEntry]:
    """Return the catalog, skills first; `full` takes every ESCO skill instead of 2,700. The same on every call."""
    skills = list(esco.concepts.values()) if full else default_concepts(esco)
    return [*(_skill(c) for c in skills), *_experience(), *_education(), *_licences()]


def default_concepts(esco: Esco) -> list[Concept]:
    """Return the skills of the default catalog: whole groups (bounded), in the order of a digest of their code."""
    chosen: dict[str, Concept] = {}
    for group in sorted(esco.members_of, key=_shuffle_key):
        home = [c for c in esco.members_of[group] if esco.concepts[c].groups[0] == group]
        for concept_id in sorted(home, key=_shuffle_key)[:MAX_SKILLS_PER_GROUP]:
            chosen[concept_id] = esco.concepts[concept_id]
        if len(chosen) >= N_DEFAULT_SKILLS:
            break
    return list(chosen.values())[:N_DEFAULT_SKILLS]


def _shuffle_key(value: str) -> str:
    return hashlib.sha256(f"semlabel sample catalog/{value}".encode()).hexdigest()


def _skill(concept: Concept) -> CatalogEntry:
    return CatalogEntry(qualification_id=f"skill:{concept.concept_id}", category="skill", text=concept.preferred_label)


def _experience() -> Iterator[CatalogEntry]:
    for occupation in OCCUPATIONS.values():
        article = "an" if occupation.title[0] in "aeiouAEIOU" and not occupation.title.startswith("uni") else "a"
        for years in YEARS:
            yield CatalogEntry(
                qualification_id=f"experience:{occupation.occupation_id}:{years}",
                category="experience",
                text=f"{years}+ year{'s' if years > 1 else ''} as {article} {occupation.title}",
            )


def _education() -> Iterator[CatalogEntry]:
    for field in FIELDS.values():
        for level in LEVELS:
            title = LEVEL_TITLES[level]
            yield CatalogEntry(
                qualification_id=f"education:{level}:{field.field_id}",
                category="education",
                text=f"{title[0].upper()}{title[1:]} in {field.title}",
            )


def _licences() -> Iterator[CatalogEntry]:
    for licence in LICENCES.values():
        text = f"{licence.title[0].upper()}{licence.title[1:]}"
        yield CatalogEntry(qualification_id=f"licence:{licence.licence_id}", category="licence", text=text)
