"""Say single facts: a span of years, a job, a degree, a licence, a list of skills."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.sample import wording as w
from jobs.sample.education import FIELDS, LEVEL_WORDINGS
from jobs.sample.esco import Esco
from jobs.sample.facts import Degree, Job, Mention, Permit
from jobs.sample.licences import LICENCES

DATED_SHARE = 0.3  # of the jobs: told by two calendar years, whose difference is the number of years
LAST_YEAR = 2025


@dataclass(frozen=True, kw_only=True)
class Phrases:
    """One member's way of saying things; every method draws from `rng`."""

    rng: random.Random
    esco: Esco

    def job_line(self, job: Job) -> str:
        """Say a job as a line of a CV."""
        span = self._dates(job.years) if self.rng.random() < DATED_SHARE else self._years(job.years)
        return self._fill(self.rng.choice(w.JOB_LINES), job=job.wording, span=span, org=self._org())

    def job_sentence(self, job: Job) -> str:
        """Say a job in running prose."""
        a_job = f"{'an' if job.wording[0] in 'aeiou' else 'a'} {job.wording}"
        if self.rng.random() < DATED_SHARE:
            end = self.rng.randint(LAST_YEAR - 15, LAST_YEAR)
            template = self.rng.choice(w.DATED_SENTENCES)
            return self._fill(template, a_job=a_job, org=self._org(), start=str(end - job.years), end=str(end))
        template = self.rng.choice(w.JOB_SENTENCES)
        return self._fill(template, a_job=a_job, org=self._org(), span=self._years(job.years))

    def skills_sentence(self, mentions: Sequence[Mention]) -> str:
        """Say one to four skills in one sentence that suits the form of their labels."""
        kinds = {self._form(m) for m in mentions}
        templates = w.DOING if kinds == {"doing"} else w.KNOWING + w.HAVING if kinds == {"knowing"} else w.HAVING
        return self._fill(self.rng.choice(templates), xs=self._joined([m.label for m in mentions]))

    def wish_sentence(self, mentions: Sequence[Mention]) -> str:
        """Name skills that the member does not have."""
        return self._fill(self.rng.choice(w.WISHING), xs=self._joined([m.label for m in mentions]))

    def degree(self, degree: Degree, *, is_line: bool) -> str:
        """Say a degree, as a line or as a sentence."""
        finished = w.DEGREE_LINES if is_line else w.DEGREE_SENTENCES
        return self._fill(
            self.rng.choice(finished if degree.is_finished else w.UNFINISHED),
            level=self.rng.choice(LEVEL_WORDINGS[degree.level]),
            field=self.rng.choice(FIELDS[degree.field_id].wordings),
            year=str(self.rng.randint(LAST_YEAR - 30, LAST_YEAR)),
        )

    def permit(self, permit: Permit, *, is_line: bool) -> str:
        """Say a licence, as a line or as a sentence."""
        p = self.rng.choice(LICENCES[permit.licence_id].wordings)
        if permit.is_valid and is_line:
            return self._capital(p)
        return self._fill(self.rng.choice(w.PERMIT_SENTENCES if permit.is_valid else w.LAPSED), p=p)

    def label(self, mention: Mention, *, is_capital: bool) -> str:
        """Return a skill's label as an entry of a list."""
        return self._capital(mention.label) if is_capital else mention.label

    def _form(self, mention: Mention) -> str:
        concept = self.esco.concepts[mention.concept_id]
        if concept.is_knowledge:
            return "knowing"
        same_verb = mention.label.split()[0] in _verbs(self.esco)
        return "doing" if same_verb else "having"

    def _years(self, years: int) -> str:
        number = w.YEAR_WORDS[years] if self.rng.random() < 0.3 else str(years)
        unit = "year" if years == 1 else self.rng.choice(("years", "years", "yrs"))
        return f"{number} {unit}"

    def _dates(self, years: int) -> str:
        end = self.rng.randint(LAST_YEAR - 15, LAST_YEAR)
        return f"{end - years}{self.rng.choice(('-', ' - ', ' to ', '–'))}{end}"  # noqa: RUF001

    def _org(self) -> str:
        return f"{self.rng.choice(w.ORG_HEADS)} {self.rng.choice(w.ORG_TAILS)}"

    def _joined(self, parts: Sequence[str]) -> str:
        if len(parts) == 1:
            return parts[0]
        last = self.rng.choice((" and ", ", and ", ", ", " as well as "))
        return ", ".join(parts[:-1]) + last + parts[-1]

    def _fill(self, template: str, **values: str) -> str:
        capitals = {name[0].upper() + name[1:]: self._capital(value) for name, value in values.items()}
        return template.format(**values, **capitals)

    @staticmethod
    def _capital(text: str) -> str:
        return text[:1].upper() + text[1:]


_VERBS: dict[int, frozenset[str]] = {}
MIN_VERB_USES = 5


def _verbs(esco: Esco) -> frozenset[str]:
    """Return the words that begin at least five preferred labels of things done: nearly all are verbs."""
    if id(esco) not in _VERBS:
        uses: dict[str, int] = {}
        for concept in esco.concepts.values():
            if not concept.is_knowledge:
                first = concept.preferred_label.split()[0]
                uses[first] = uses.get(first, 0) + 1
        _VERBS[id(esco)] = frozenset(word for word, n in uses.items() if n >= MIN_VERB_USES)
    return _VERBS[id(esco)]
