"""Draw the facts of one member.

Skills cluster in one to three ESCO groups, as a working life does, which makes siblings of held skills frequent
among a member's candidates. One skill in ten is none of the catalog's: a member knows more than a catalog asks for.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jobs.sample.catalog import CatalogEntry
from jobs.sample.education import FIELDS, LEVELS
from jobs.sample.esco import Esco
from jobs.sample.facts import Degree, Facts, Job, Mention, Permit
from jobs.sample.licences import LICENCES
from jobs.sample.occupations import OCCUPATIONS

SKILL_PREFIX = "skill:"
Classes = Sequence[tuple[float, int, int]]
N_SKILLS = ((0.30, 2, 5), (0.35, 6, 14), (0.35, 15, 30))  # share of members, fewest, most
N_JOBS = ((0.15, 0, 0), (0.60, 1, 2), (0.25, 3, 4))
OUTSIDE_SHARE = 0.10  # of the skills: not in the catalog
FOCUS_SHARE = 0.65  # of the catalog's skills: from the member's own groups
WISH_SHARE = 0.15  # of the members name skills that they do not have
UNFINISHED_SHARE = 0.12
LAPSED_SHARE = 0.12


@dataclass(frozen=True, kw_only=True)
class Pool:
    """What members may be given: concept ids with an alternative label, by group, and those outside the catalog."""

    esco: Esco
    inside: Sequence[str]
    by_group: Sequence[Sequence[str]]
    outside: Sequence[str]

    @classmethod
    def of(cls, esco: Esco, catalog: Sequence[CatalogEntry], *, without: Collection[str] = ()) -> "Pool":
        """Build the pool; `without` names concepts that no profile may hold or mention."""
        ids = [e.qualification_id.removeprefix(SKILL_PREFIX) for e in catalog if e.category == "skill"]
        in_catalog = set(ids)
        usable = {c for c, concept in esco.concepts.items() if concept.alternative_labels} - set(without)
        inside = [c for c in ids if c in usable]
        groups: dict[str, list[str]] = {}
        for concept_id in inside:
            groups.setdefault(esco.concepts[concept_id].groups[0], []).append(concept_id)
        outside = [c for c in esco.concepts if c in usable and c not in in_catalog]
        return cls(esco=esco, inside=inside, by_group=list(groups.values()), outside=outside)


def draw_facts(rng: random.Random, pool: Pool, *, n_skills: Classes = N_SKILLS, n_jobs: Classes = N_JOBS) -> Facts:
    """Draw one member; the sample's own shares are the default."""
    held = _draw_skills(rng, pool, _draw_count(rng, n_skills))
    wishes: list[str] = []
    if rng.random() < WISH_SHARE:
        near = rng.choice(pool.by_group)
        wishes = [c for c in rng.sample(list(near), min(len(near), rng.randint(1, 3))) if c not in held]
    return Facts(
        mentions=tuple(_mention(rng, pool, c) for c in held),
        wishes=tuple(_mention(rng, pool, c) for c in wishes),
        jobs=_draw_jobs(rng, _draw_count(rng, n_jobs)),
        degrees=_draw_degrees(rng),
        permits=_draw_permits(rng),
    )


def _draw_count(rng: random.Random, classes: Classes) -> int:
    weights = [share for share, _, _ in classes]
    _, fewest, most = rng.choices(classes, weights)[0]
    return rng.randint(fewest, most)


def _draw_skills(rng: random.Random, pool: Pool, n_skills: int) -> list[str]:
    focus = [rng.choice(pool.by_group) for _ in range(rng.randint(1, 3))]
    held: dict[str, None] = {}
    for _ in range(n_skills):
        if pool.outside and rng.random() < OUTSIDE_SHARE:
            held[rng.choice(pool.outside)] = None
        elif rng.random() < FOCUS_SHARE:
            held[rng.choice(rng.choice(focus))] = None
        else:
            held[rng.choice(pool.inside)] = None
    return list(held)


def _mention(rng: random.Random, pool: Pool, concept_id: str) -> Mention:
    return Mention(concept_id=concept_id, label=rng.choice(pool.esco.concepts[concept_id].alternative_labels))


def _draw_jobs(rng: random.Random, n_jobs: int) -> tuple[Job, ...]:
    chosen = rng.sample(list(OCCUPATIONS.values()), n_jobs)
    return tuple(
        Job(occupation_id=o.occupation_id, wording=rng.choice(o.wordings), years=rng.randint(1, 14)) for o in chosen
    )


def _draw_degrees(rng: random.Random) -> tuple[Degree, ...]:
    field_ids = rng.sample(list(FIELDS), rng.choices((0, 1, 2), (0.25, 0.6, 0.15))[0])
    return tuple(
        Degree(level=rng.choices(LEVELS, (5, 4, 1))[0], field_id=f, is_finished=rng.random() >= UNFINISHED_SHARE)
        for f in field_ids
    )


def _draw_permits(rng: random.Random) -> tuple[Permit, ...]:
    licence_ids = rng.sample(list(LICENCES), rng.choices((0, 1, 2, 3), (0.35, 0.35, 0.2, 0.1))[0])
    return tuple(Permit(licence_id=x, is_valid=rng.random() >= LAPSED_SHARE) for x in licence_ids)
