"""The sample's profiles with their fixed sentences and headers in German, French or Spanish.

What it is: the words around the facts change language; skills, job titles, degrees and licences stay English, as in
many CVs of international firms. It shows whether foreign text around a fact disturbs the labeler. It does not show that
the labeler reads those languages: no profile told wholly in one is here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mis_scoring.evaluation.members import EvaluationMember


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """One language: what stands before and after a profile, and what replaces fixed English text inside."""

    language: str
    before: str
    after: str
    phrases: Mapping[str, str]


_ENGLISH = (
    "EXPERIENCE", "Work history", "SKILLS", "Key skills", "EDUCATION", "LICENCES", "About me", "References on request.",
    "I enjoy working in a team.", "Good command of ", "Skilled in ", "Solid knowledge of ", "I know how to ",
    "I have worked as ", "I would like to learn about ",
)  # fmt: skip
_GERMAN = (
    "BERUFSERFAHRUNG", "Werdegang", "KENNTNISSE", "Schwerpunkte", "AUSBILDUNG", "LIZENZEN", "Über mich",
    "Referenzen auf Anfrage.", "Ich arbeite gern im Team.", "Gute Kenntnisse: ", "Erfahren in ",
    "Solides Wissen über ", "Ich kann ", "Ich arbeitete als ", "Ich möchte noch lernen: ",
)  # fmt: skip
_FRENCH = (
    "EXPÉRIENCE", "Parcours", "COMPÉTENCES", "Points forts", "FORMATION", "PERMIS", "À propos de moi",
    "Références sur demande.", "J'aime travailler en équipe.", "Bonne maîtrise de ", "Compétent en ",
    "Solides connaissances de ", "Je sais ", "J'ai travaillé comme ", "J'aimerais encore apprendre : ",
)  # fmt: skip
_SPANISH = (
    "EXPERIENCIA", "Trayectoria", "COMPETENCIAS", "Puntos fuertes", "FORMACIÓN", "PERMISOS", "Sobre mí",
    "Referencias a petición.", "Me gusta trabajar en equipo.", "Buen dominio de ", "Con experiencia en ",
    "Sólidos conocimientos de ", "Sé ", "He trabajado como ", "Me gustaría aprender todavía: ",
)  # fmt: skip

WRAPPERS = (
    Wrapper(
        language="German",
        before="Lebenslauf. Sehr geehrte Damen und Herren, hier sind meine Angaben.",
        after="Mit freundlichen Grüßen. Ich freue mich auf Ihre Antwort.",
        phrases=dict(zip(_ENGLISH, _GERMAN, strict=True)),
    ),
    Wrapper(
        language="French",
        before="Curriculum vitae. Madame, Monsieur, voici mon parcours.",
        after="Cordialement. Dans l'attente de votre réponse.",
        phrases=dict(zip(_ENGLISH, _FRENCH, strict=True)),
    ),
    Wrapper(
        language="Spanish",
        before="Currículum. Estimados señores, estos son mis datos.",
        after="Un cordial saludo. Quedo a la espera de su respuesta.",
        phrases=dict(zip(_ENGLISH, _SPANISH, strict=True)),
    ),
)


def in_other_languages(members: Sequence[EvaluationMember]) -> Iterator[EvaluationMember]:
    """Yield the members wrapped, each language in turn; candidates and answers stay what they are."""
    for number, member in enumerate(members):
        wrapper = WRAPPERS[number % len(WRAPPERS)]
        text = member.profile_text
        for english, other in wrapper.phrases.items():
            text = text.replace(english, other)
        yield replace(member, profile_text=f"{wrapper.before}\n{text}\n{wrapper.after}")
