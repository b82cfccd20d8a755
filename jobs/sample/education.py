"""Fields and levels of education of the sample, with the words by which a profile tells them.

A curated list of the project's own. A profile says a field by its wordings and a level by its abbreviations or
phrases, so that a degree is never told in the catalog's words. `related` fields are *unknown* for one another.
"""

from dataclasses import dataclass

LEVELS = ("bachelor", "master", "doctorate")
"""Lowest first: a higher level in a field supports the lower ones."""

LEVEL_TITLES = {"bachelor": "bachelor's degree", "master": "master's degree", "doctorate": "doctorate"}

LEVEL_WORDINGS = {
    "bachelor": ("BSc", "B.Sc.", "BA", "B.A. (Hons)", "undergraduate degree", "first degree", "BSc (Hons)"),
    "master": ("MSc", "M.Sc.", "MA", "M.A.", "postgraduate degree", "MPhil", "MRes"),
    "doctorate": ("PhD", "Ph.D.", "DPhil", "doctoral studies completed", "doctoral thesis defended"),
}

_LINES = """
nursing | nursing studies; patient care science; clinical nurse education |
medicine | human medicine; medical science; clinical medical studies |
pharmacy | pharmaceutical sciences; pharmacology and dispensing | chemistry
dentistry | dental science; dental surgery studies |
physiotherapy | physical therapy; rehabilitation science |
psychology | behavioural science; study of mind and behaviour |
social-work | social welfare studies; community and family welfare | sociology
computer-science | informatics; computing; CS | information-systems; software-engineering
software-engineering | software construction; program development engineering | computer-science
information-systems | business informatics; IT systems management | computer-science
mathematics | pure and applied maths; maths | statistics
statistics | statistical science; probability and data inference | mathematics
physics | theoretical and experimental physical science; quantum and classical mechanics |
chemistry | chemical sciences; organic and inorganic chem | pharmacy; chemical-engineering
biology | life sciences; organismal and molecular bio | biochemistry
biochemistry | chemistry of life; molecular life chemistry | biology
geology | earth sciences; geosciences |
environmental-science | ecology and environment; sustainability studies |
civil-engineering | structures and infrastructure; construction engineering | architecture
mechanical-engineering | machine engineering; mech eng |
electrical-engineering | EE; power and electronics engineering |
chemical-engineering | process engineering; chem eng | chemistry
aerospace-engineering | aeronautics; flight vehicle engineering |
architecture | building design; architectural design studies | civil-engineering
law | legal studies; jurisprudence; LLB curriculum |
accounting | accountancy; financial reporting and bookkeeping studies | finance
finance | banking and investment; capital markets studies | accounting; economics
economics | econ; political economy | finance
business-administration | business studies; commerce and management | marketing
marketing | brand and consumer studies; advertising and market research | business-administration
human-resource-management | personnel management; HRM |
logistics | supply chain studies; transport and distribution management |
education | pedagogy; teacher training; teaching studies |
history | historical studies; study of the past |
philosophy | ethics and metaphysics; philosophical studies |
linguistics | language science; phonetics and grammar studies |
english-literature | English letters; British and American literary studies |
journalism | news media studies; reporting and press studies |
political-science | government studies; politics; international relations theory |
sociology | study of society; social theory | social-work
graphic-design | visual communication design; typographic and visual arts |
fine-arts | painting and sculpture; studio art |
music | musicology; performance at a conservatoire |
agriculture | agronomy; crop and soil science |
veterinary-medicine | animal medicine; vet science |
hospitality-management | hotel and restaurant studies; hotel school |
sports-science | kinesiology; exercise physiology |
"""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of education; `wordings` never hold its title."""

    field_id: str
    wordings: tuple[str, ...]
    related: frozenset[str]

    @property
    def title(self) -> str:
        """Return the field as the catalog writes it."""
        return "English literature" if self.field_id == "english-literature" else self.field_id.replace("-", " ")


def _parse(line: str) -> Field:
    field_id, wordings, related = (cell.strip() for cell in line.split("|"))
    return Field(
        field_id=field_id,
        wordings=tuple(w.strip() for w in wordings.split(";")),
        related=frozenset(r.strip() for r in related.split(";") if r.strip()),
    )


FIELDS = {f.field_id: f for f in map(_parse, _LINES.strip().splitlines())}
"""Every field by its id."""
