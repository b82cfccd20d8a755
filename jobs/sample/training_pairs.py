"""Draw training examples without end: a member, and candidates like those that retrieval would propose.

All that the profile supports (bounded), neighbours of its phrases (mostly the nearest), the same occupation with
more years, a higher degree in the same field, siblings of held skills, and a few entries at random. Unknown pairs
are left out. Positives are then a quarter of the pairs instead of a tenth: the threshold is chosen on validation
members at retrieval's own share, not here.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.sample.catalog import YEARS, CatalogEntry
from jobs.sample.draw import SKILL_PREFIX, Pool
from jobs.sample.education import FIELDS, LEVEL_WORDINGS, LEVELS
from jobs.sample.esco import Esco
from jobs.sample.facts import Facts
from jobs.sample.licences import LICENCES
from jobs.sample.members import SampleMember, sample_member
from jobs.sample.neighbours import Neighbours
from jobs.sample.reference import SUPPORTED, Reference

N_RETRIEVED = 200
N_NEAREST = 60  # of those retrieved: where the hard negatives are


@dataclass(frozen=True, kw_only=True)
class LabelledPairs:
    """A member and the places of catalog entries, each with its answer."""

    member: SampleMember
    places: Sequence[int]
    answers: Sequence[bool]


class PairSource:
    """Members of one catalog with their candidates."""

    def __init__(
        self, esco: Esco, catalog: Sequence[CatalogEntry], pool: Pool, neighbours: Neighbours, *, n_items: int
    ) -> None:
        self.catalog = catalog
        self._pool = pool
        self._neighbours = neighbours
        self._n_items = n_items
        self._reference = Reference(esco, catalog)
        self._place = {entry.qualification_id: place for place, entry in enumerate(catalog)}
        self._esco = esco

    def draw(self, *, seed: int, index: int, is_short: bool) -> LabelledPairs:
        """Return member `index` of a seed with `n_items` candidates, or a few fewer."""
        member = sample_member(self._pool, seed=seed, index=index, is_short=is_short)
        rng = random.Random(f"semlabel candidates {seed}/{index}")
        answers = self._reference.answers(member.facts)
        supported = [self._place[q] for q, answer in answers.items() if answer == SUPPORTED]
        positives = rng.sample(supported, min(len(supported), int(self._n_items * 0.4)))
        decided = {self._place[q] for q in answers}
        negatives = self._negatives(rng, member.facts, decided)[: self._n_items - len(positives)]
        pairs = [(place, True) for place in positives] + [(place, False) for place in negatives]
        rng.shuffle(pairs)
        return LabelledPairs(member=member, places=[p for p, _ in pairs], answers=[a for _, a in pairs])

    def _negatives(self, rng: random.Random, facts: Facts, decided: set[int]) -> list[int]:
        retrieved = self._neighbours.candidates(_phrases(facts), k=N_RETRIEVED).tolist()
        nearest, others = retrieved[:N_NEAREST], retrieved[N_NEAREST:]
        hard = [self._place[q] for q in hard_negatives(rng, facts) if q in self._place]
        siblings = list(self._siblings(rng, facts))
        anywhere = [rng.randrange(len(self.catalog)) for _ in range(self._n_items)]
        rng.shuffle(nearest)
        rng.shuffle(others)
        half = self._n_items // 2
        mixed = [*hard[:12], *nearest[:half], *siblings[:4], *others[:half], *anywhere]
        return [place for place in dict.fromkeys(mixed) if place not in decided]

    def _siblings(self, rng: random.Random, facts: Facts) -> Iterator[int]:
        for mention in rng.sample(facts.mentions, min(4, len(facts.mentions))):
            group = self._esco.members_of[self._esco.concepts[mention.concept_id].groups[0]]
            sibling = self._place.get(SKILL_PREFIX + rng.choice(group))
            if sibling is not None:
                yield sibling


def hard_negatives(rng: random.Random, facts: Facts) -> list[str]:
    """Return ids that the facts nearly support: more years, a higher degree, another field, lapsed, wished for."""
    ids = [f"experience:{job.occupation_id}:{years}" for job in facts.jobs for years in YEARS]
    ids += [f"education:{level}:{degree.field_id}" for degree in facts.degrees for level in LEVELS]
    ids += [f"education:{d.level}:{rng.choice(list(FIELDS))}" for d in facts.degrees]
    ids += [f"licence:{permit.licence_id}" for permit in facts.permits]
    ids += [SKILL_PREFIX + wish.concept_id for wish in facts.wishes]
    rng.shuffle(ids)
    return ids


def _phrases(facts: Facts) -> Iterator[str]:
    yield from (mention.label for mention in (*facts.mentions, *facts.wishes))
    for job in facts.jobs:
        yield job.wording
        yield f"{job.years} years"
    for degree in facts.degrees:
        level = LEVEL_WORDINGS[degree.level][0]
        yield from (f"{level} in {field}" for field in FIELDS[degree.field_id].wordings)
    for permit in facts.permits:
        yield from LICENCES[permit.licence_id].wordings
