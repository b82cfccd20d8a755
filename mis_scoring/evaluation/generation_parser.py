"""Read a generated answer list by position: the i-th answer is that of the i-th qualification.

A list is malformed when it is cut off, has too few or too many answers, or a word that is no answer. What was read
stays, what was not is None: missing is not NO.
"""

from collections.abc import Sequence
from dataclasses import dataclass

TRUNCATED = "truncated"
WRONG_COUNT = "wrong_count"
OTHER_WORDS = "other_words"


@dataclass(frozen=True, kw_only=True)
class ParsedList:
    """The answers of n qualifications.

    Attributes:
        answers: n entries; None where no answer was read.
        is_malformed: whether the list differs from n answers and nothing else.
        reason: "" or the first that applies of `truncated`, `other_words`, `wrong_count`.
    """

    answers: Sequence[bool | None]
    is_malformed: bool
    reason: str

    @property
    def n_missing(self) -> int:
        """Positions without an answer."""
        return sum(answer is None for answer in self.answers)


def parse_answers(
    text: str, n: int, *, answers: tuple[str, str] = ("YES", "NO"), separator: str = ",", is_ended: bool = True
) -> ParsedList:
    """Read n answers from a text such as `YES, NO, YES`.

    Args:
        text: what was generated, without the token that ends the list.
        n: qualifications asked about, 0 or more.
        answers: the strings for supported and unsupported; read as they are spelled.
        separator: between answers, spaces around it apart.
        is_ended: whether the model ended the list itself; one that ran into the token limit is truncated, and its
            last word may be half of one.
    """
    words = [word.strip() for word in text.split(separator.strip())] if text.strip() else []
    meaning: dict[str, bool] = {answers[0]: True, answers[1]: False}
    whole = words if is_ended else words[:-1]
    read = [meaning.get(word) for word in whole[:n]]
    reason = _reason(words, n, meaning, is_ended=is_ended)
    return ParsedList(answers=read + [None] * (n - len(read)), is_malformed=bool(reason), reason=reason)


def _reason(words: Sequence[str], n: int, meaning: dict[str, bool], *, is_ended: bool) -> str:
    if not is_ended:
        return TRUNCATED
    if any(word not in meaning for word in words):
        return OTHER_WORDS
    return "" if len(words) == n else WRONG_COUNT
