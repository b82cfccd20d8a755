"""Compare two labels by their content words: the same, one within the other, or neither.

Stems are crude on purpose (a dozen English suffixes): they decide only which pairs are left out as *unknown*.
"""

import re
from functools import cache

_WORD = re.compile(r"[^\W_]+(?:[+#]+)?")
# Function words, and verbs that say no more than that a thing is done.
_FUNCTION_WORDS = {
    "a", "an", "the", "of", "for", "in", "on", "to", "and", "or", "with", "by", "at", "from", "as", "its", "their",
    "your", "own",
}  # fmt: skip
_EMPTY_VERBS = {"using", "use", "perform", "conduct", "undertake", "carry", "out"}
_EMPTY = frozenset(_FUNCTION_WORDS | _EMPTY_VERBS)
_SUFFIXES = ("isation", "ization", "ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion", "ies", "ers",
             "ed", "es", "er", "e", "s", "y")  # fmt: skip
MIN_STEM = 3


@cache
def stem(word: str) -> str:
    """Return a crude stem of a lower-case word: "managing", "management" and "manages" agree."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= MIN_STEM:
            return word[: -len(suffix)]
    return word


def content_words(label: str) -> frozenset[str]:
    """Return the stems of a label's content words; of all its words when it has no others."""
    words = [word.casefold() for word in _WORD.findall(label)]
    return frozenset(stem(w) for w in words if w not in _EMPTY) or frozenset(words)
