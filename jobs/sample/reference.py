"""What a member's facts say about each catalog entry: supported, unknown, or (all others) unsupported.

Supported: a held skill of the entry's concept; years in the occupation that reach the entry's; a finished degree of
the entry's level or a higher one in its field; a valid licence, and those that it includes.

Unknown, because no fact decides: entries of nearby wording (below) for skills; enough years in a related occupation;
a degree in a related field; a lower degree than one still studied for. Unknown pairs are left out of training and
metrics.

A skill q that is not held is unknown when, for a held concept h told by the label m, as sets of content words:
m equals any label of q; m lies within q's preferred label or around it, or around one of q's alternative labels of
two words or more; or the preferred labels of h and q lie within one another (broader or narrower). The held concept
itself is unknown when its label m belongs to another ESCO concept too.
"""

from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from jobs.sample.catalog import YEARS, CatalogEntry
from jobs.sample.draw import SKILL_PREFIX
from jobs.sample.education import FIELDS, LEVELS
from jobs.sample.esco import Esco
from jobs.sample.facts import Degree, Facts, Job, Permit
from jobs.sample.licences import LICENCES
from jobs.sample.occupations import OCCUPATIONS
from jobs.sample.words import content_words

SUPPORTED = "supported"
UNKNOWN = "unknown"
Words = frozenset[str]


class Reference:
    """Answers for one catalog; building the word index takes about a second, an answer under a millisecond."""

    def __init__(self, esco: Esco, catalog: Sequence[CatalogEntry]) -> None:
        self._esco = esco
        self._ids = {entry.qualification_id for entry in catalog}
        self._preferred: dict[str, Words] = {}
        self._by_word: dict[str, list[tuple[str, Words]]] = {}
        for entry in catalog:
            if entry.category == "skill":
                self._add(entry.qualification_id.removeprefix(SKILL_PREFIX))
        self.near_skills = cache(self._near_skills)

    def answers(self, facts: Facts) -> dict[str, str]:
        """Return `supported` or `unknown` by qualification id; entries not named are unsupported."""
        unknown = set(self._unknown(facts))
        supported = set(self._supported(facts))
        answers = {q: UNKNOWN for q in unknown if q in self._ids}
        return answers | {q: SUPPORTED for q in supported if q in self._ids}

    def _supported(self, facts: Facts) -> Iterator[str]:
        for mention in facts.mentions:
            if not self._is_shared(mention.label):
                yield SKILL_PREFIX + mention.concept_id
        for job in facts.jobs:
            yield from _experience(job.occupation_id, job)
        for degree in facts.degrees:
            if degree.is_finished:
                yield from _degrees(degree, degree.field_id)
        for permit in facts.permits:
            yield from _licences(permit)

    def _unknown(self, facts: Facts) -> Iterator[str]:
        for mention in facts.mentions:
            yield SKILL_PREFIX + mention.concept_id  # overruled where it is supported
            yield from self.near_skills(mention.concept_id, mention.label)
        for job in facts.jobs:
            for related in OCCUPATIONS[job.occupation_id].related:
                yield from _experience(related, job)
        for degree in facts.degrees:
            for related in FIELDS[degree.field_id].related:
                yield from _degrees(degree, related)
            if not degree.is_finished:
                yield from list(_degrees(degree, degree.field_id))[:-1]

    def _near_skills(self, held: str, label: str) -> frozenset[str]:
        """Return the ids of the catalog's skills, other than the held one, that the label leaves undecided."""
        told, own = content_words(label), content_words(self._esco.concepts[held].preferred_label)
        near = set()
        for concept_id, words in self._sharing_a_word(told | own):
            preferred = self._preferred[concept_id]
            is_preferred = words is preferred
            is_told = words == told or (words < told and (is_preferred or len(words) > 1))
            is_nested = is_preferred and (words > told or words <= own or words > own)
            if is_told or is_nested:
                near.add(concept_id)
        return frozenset(SKILL_PREFIX + c for c in near - {held})

    def _sharing_a_word(self, words: Words) -> Iterator[tuple[str, Words]]:
        for word in words:
            yield from self._by_word.get(word, ())

    def _add(self, concept_id: str) -> None:
        concept = self._esco.concepts[concept_id]
        self._preferred[concept_id] = preferred = content_words(concept.preferred_label)
        others = {content_words(label) for label in concept.alternative_labels} - {preferred}
        for words in (preferred, *others):
            for word in words:
                self._by_word.setdefault(word, []).append((concept_id, words))

    def _is_shared(self, label: str) -> bool:
        return len(self._owners[label.casefold()]) > 1

    @cached_property
    def _owners(self) -> dict[str, set[str]]:
        """Concepts by case-folded label, preferred or alternative."""
        owners: dict[str, set[str]] = {}
        for concept in self._esco.concepts.values():
            for label in (concept.preferred_label, *concept.alternative_labels):
                owners.setdefault(label.casefold(), set()).add(concept.concept_id)
        return owners


def _experience(occupation_id: str, job: Job) -> Iterator[str]:
    return (f"experience:{occupation_id}:{years}" for years in YEARS if job.years >= years)


def _degrees(degree: Degree, field_id: str) -> Iterator[str]:
    levels = LEVELS[: LEVELS.index(degree.level) + 1]
    return (f"education:{level}:{field_id}" for level in levels)


def _licences(permit: Permit) -> Iterator[str]:
    if permit.is_valid:
        yield f"licence:{permit.licence_id}"
        yield from (f"licence:{included}" for included in LICENCES[permit.licence_id].includes)
