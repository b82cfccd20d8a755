"""Write a profile from facts, in one of five forms: headed CV, running prose, flat bullets, terse notes, mixed."""

import random
from collections.abc import Callable, Sequence

from jobs.sample import wording as w
from jobs.sample.esco import Esco
from jobs.sample.facts import Facts, Mention
from jobs.sample.phrases import Phrases

MAX_SKILLS_PER_SENTENCE = 4


def write_profile(rng: random.Random, esco: Esco, facts: Facts) -> str:
    """Return the profile's text; every fact is told exactly once."""
    form = rng.choice((_headed, _headed, _prose, _bullets, _notes, _mixed))
    return form(rng, Phrases(rng=rng, esco=esco), facts)


def _headed(rng: random.Random, say: Phrases, facts: Facts) -> str:
    """Write sections under headers, in any order; some skills stand under the jobs."""
    under_jobs, listed = _split_skills(rng, facts)
    sections: list[tuple[str, list[str]]] = [
        ("jobs", _job_entries(rng, say, facts, under_jobs)),
        ("skills", _skill_list(rng, say, listed)),
        ("degrees", [say.degree(d, is_line=True) for d in facts.degrees]),
        ("permits", [say.permit(p, is_line=True) for p in facts.permits]),
        ("wishes", [say.wish_sentence(facts.wishes)] if facts.wishes else []),
        ("summary", _fillers(rng, 1, 4)),
    ]
    rng.shuffle(sections)
    blocks = ["\n".join([rng.choice(w.HEADERS[name]), *lines]) for name, lines in sections if lines]
    return rng.choice(("\n\n", "\n")).join(blocks)


def _prose(rng: random.Random, say: Phrases, facts: Facts) -> str:
    """Write paragraphs of sentences in any order."""
    sentences = _sentences(rng, say, facts)
    breaks = [rng.choice((" ", " ", " ", "\n\n")) for _ in sentences]
    return "".join(s + b for s, b in zip(sentences, breaks, strict=True)).strip()


def _bullets(rng: random.Random, say: Phrases, facts: Facts) -> str:
    """Write one bullet a fact, in any order."""
    mark = rng.choice(w.BULLETS)
    is_capital = rng.random() < 0.5
    lines = [say.label(m, is_capital=is_capital) for m in facts.mentions]
    lines += [say.job_line(j) for j in facts.jobs] + _rest(say, facts, is_line=True) + _fillers(rng, 0, 2)
    rng.shuffle(lines)
    return "\n".join(mark + line for line in lines)


def _notes(rng: random.Random, say: Phrases, facts: Facts) -> str:
    """Write a few dense lines, as in a recruiter's file."""
    joint = rng.choice(w.CONNECTORS)
    lines = [
        rng.choice(("; ", "\n")).join(say.job_line(j) for j in facts.jobs),
        *_chunk_lines(rng, facts.mentions, joint),
    ]
    lines += [*_rest(say, facts, is_line=True), *_fillers(rng, 0, 2)]
    rng.shuffle(lines)
    text = "\n".join(line for line in lines if line)
    return text.lower() if rng.random() < 0.3 else text


def _mixed(rng: random.Random, say: Phrases, facts: Facts) -> str:
    """Write prose first, then a list of the other skills."""
    told, listed = _split_skills(rng, facts)
    lead = Facts(mentions=told, wishes=facts.wishes, jobs=facts.jobs, degrees=facts.degrees, permits=facts.permits)
    text = " ".join(_sentences(rng, say, lead))
    lines = _skill_list(rng, say, listed)
    return "\n".join([text, "", rng.choice(w.HEADERS["skills"]), *lines]) if lines else text


def _split_skills(rng: random.Random, facts: Facts) -> tuple[tuple[Mention, ...], tuple[Mention, ...]]:
    cut = rng.randint(0, len(facts.mentions))
    return facts.mentions[:cut], facts.mentions[cut:]


def _job_entries(rng: random.Random, say: Phrases, facts: Facts, mentions: Sequence[Mention]) -> list[str]:
    mark = rng.choice(w.BULLETS)
    entries = [[say.job_line(job)] for job in facts.jobs] or [["Various"]]
    for chunk in _chunks(rng, mentions, 2):
        line = say.label(chunk[0], is_capital=True) if len(chunk) == 1 else say.skills_sentence(chunk)
        rng.choice(entries).append(mark + line)
    return [line for entry in entries for line in entry] if facts.jobs or mentions else []


def _skill_list(rng: random.Random, say: Phrases, mentions: Sequence[Mention]) -> list[str]:
    if not mentions:
        return []
    style: Callable[[], list[str]] = rng.choice(
        (
            lambda: _chunk_lines(rng, mentions, rng.choice(w.CONNECTORS)),
            lambda: [rng.choice(w.BULLETS[:3]) + say.label(m, is_capital=True) for m in mentions],
            lambda: [say.skills_sentence(chunk) for chunk in _chunks(rng, mentions, MAX_SKILLS_PER_SENTENCE)],
        )
    )
    return style()


def _sentences(rng: random.Random, say: Phrases, facts: Facts) -> list[str]:
    sentences = [say.job_sentence(j) for j in facts.jobs]
    sentences += [say.skills_sentence(chunk) for chunk in _chunks(rng, facts.mentions, MAX_SKILLS_PER_SENTENCE)]
    sentences += _rest(say, facts, is_line=False) + _fillers(rng, 1, 6)
    rng.shuffle(sentences)
    return sentences


def _rest(say: Phrases, facts: Facts, *, is_line: bool) -> list[str]:
    lines = [say.degree(d, is_line=is_line) for d in facts.degrees]
    lines += [say.permit(p, is_line=is_line) for p in facts.permits]
    return lines + ([say.wish_sentence(facts.wishes)] if facts.wishes else [])


def _chunks(rng: random.Random, mentions: Sequence[Mention], most: int) -> list[Sequence[Mention]]:
    chunks, start = [], 0
    while start < len(mentions):
        size = rng.randint(1, most)
        chunks.append(mentions[start : start + size])
        start += size
    return chunks


def _chunk_lines(rng: random.Random, mentions: Sequence[Mention], joint: str) -> list[str]:
    return [joint.join(m.label for m in chunk) for chunk in _chunks(rng, mentions, 12)]


def _fillers(rng: random.Random, fewest: int, most: int) -> list[str]:
    return rng.sample(w.FILLERS, rng.randint(fewest, most))
