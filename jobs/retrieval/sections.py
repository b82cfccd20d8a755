"""Split a profile into the sections that are embedded one by one.

One vector for a whole profile finds a sixth of what the same model finds with a vector a section
(docs/decisions/0004-retrieval-by-sections.md), so a section is as small as the text allows: a line,
a sentence, and each clause of a long sentence.
"""

import re

SECTIONING_VERSION = "sections-1"
MAX_SECTIONS = 256  # a longer profile keeps its first sections; the rest is not retrieved by

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_CLAUSE_END = re.compile(r"\s*[,;:|\u2022\u00b7\u2013\u2014/]\s+|\s+(?:and|as well as|plus|or)\s+", re.IGNORECASE)
_EDGE = re.compile(r"^[\W_]+|[\W_]+$")
_WORD = re.compile(r"\w")


def split_sections(profile_text: str) -> list[str]:
    """Return the distinct sections of a profile, in order: sentences, then their clauses.

    Empty when the text holds no word at all. At most `MAX_SECTIONS`.
    """
    sentences = [_trim(part) for part in _SENTENCE_END.split(profile_text)]
    clauses = [_trim(part) for sentence in sentences for part in _CLAUSE_END.split(sentence)]
    worded = (text for text in sentences + clauses if _WORD.search(text))
    return list(dict.fromkeys(worded))[:MAX_SECTIONS]


def _trim(text: str) -> str:
    return _EDGE.sub("", text)
