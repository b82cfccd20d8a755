"""One labelled pair as somebody gave it, and all that can be wrong with a set of them.

Faults of one kind are one sentence with their rows; it never holds a profile.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from mis_scoring.evaluation.members import SUPPORTED, UNKNOWN, UNSUPPORTED

REQUIRED = ("member_id", "profile_text", "qualification_id", "qualification_text", "answer")
ANSWER_WORDS = {
    "yes": SUPPORTED,
    "no": UNSUPPORTED,
    "unknown": UNKNOWN,
    "supported": SUPPORTED,
    "unsupported": UNSUPPORTED,
}
MIN_MEMBERS = 3  # one for each split
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN_ROWS = 5
_SHOWN_KEYS = 20
_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """One row; `number` counts from 1, `similarity` is None where it was not given."""

    number: int
    member_id: str
    profile_text: str
    qualification_id: str
    qualification_text: str
    answer: str
    category: str
    similarity: float | None


def to_rows(raw: Sequence[Mapping[str, Any]]) -> tuple[list[PairRow], list[str]]:
    """Return the rows whose values are right, and one sentence a kind of fault of the others."""
    if not raw:
        return [], ["it holds no row"]
    columns = set(chain.from_iterable(raw))
    if missing := [name for name in REQUIRED if name not in columns]:
        return [], [f"column {name} is missing; a pairs file needs {', '.join(REQUIRED)}" for name in missing]
    rows, wrong, texts = [], _Faults(), dict[str, str]()
    for number, values in enumerate(raw, 1):
        row = _row(number, values, texts, partial(wrong.add, number=number))
        if row is not None:
            rows.append(row)
    return rows, wrong.sentences()


def contradictions(rows: Iterable[PairRow]) -> list[str]:
    """Return what rows say of one member, qualification or pair in two ways."""
    checks: dict[str, tuple[Callable[[PairRow], Any], Callable[[PairRow], str]]] = {
        "has two answers: keep the right one, or answer unknown": (
            lambda r: f"the pair of member {r.member_id!r} and qualification {r.qualification_id!r}",
            lambda r: r.answer,
        ),
        "has two profile texts: a member has one profile": (
            lambda r: f"member {r.member_id!r}",
            lambda r: r.profile_text,
        ),
        "has two texts: give each text an id of its own": (
            lambda r: f"qualification {r.qualification_id!r}",
            lambda r: r.qualification_text,
        ),
        "has two categories: a qualification has one": (
            lambda r: f"qualification {r.qualification_id!r}",
            lambda r: r.category,
        ),
    }
    rows = list(rows)
    return [fault for what, (key, value) in checks.items() for fault in _differing(rows, key, value, what)]


def shortages(rows: Sequence[PairRow]) -> list[str]:
    """Return what a set of good rows lacks."""
    faults = []
    n_members = len({row.member_id for row in rows})
    if n_members < MIN_MEMBERS:
        faults.append(f"{n_members} member(s): training, validation and test need one each, at the least")
    absent = {SUPPORTED, UNSUPPORTED} - {row.answer for row in rows}
    faults += [f"no pair is {answer}: a labeler learns from both answers" for answer in sorted(absent)]
    return faults


class _Faults:
    """Rows by fault."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}

    def add(self, fault: str, number: int) -> None:
        self._rows.setdefault(fault, []).append(number)

    def sentences(self) -> list[str]:
        found = [f"{fault} ({_named(rows)})" for fault, rows in self._rows.items()]
        more = len(found) - _SHOWN_KEYS
        return found[:_SHOWN_KEYS] + ([f"and {more} more faults like these"] if more > 0 else [])


def _row(number: int, values: Mapping[str, Any], texts: dict[str, str], wrong: Callable[[str], None]) -> PairRow | None:
    given = {name: _text(name, values.get(name), wrong) for name in REQUIRED}
    answer = _answer(given["answer"], wrong)
    category, has_category = values.get("category"), values.get("category") not in (None, "")
    named = _text("category", category, wrong) if has_category else ""
    similarity = _similarity(values.get("similarity"), wrong)
    if None in given.values() or answer is None or named is None or similarity is _WRONG:
        return None
    # one profile is in many rows: one copy of its text is enough
    shared: dict[str, Any] = {name: texts.setdefault(str(text), str(text)) for name, text in given.items()}
    measured = None if similarity is None or math.isnan(similarity) else similarity
    return PairRow(**(shared | {"answer": answer}), number=number, category=named, similarity=measured)


def _text(name: str, value: Any, wrong: Callable[[str], None]) -> str | None:
    """Return a text that is there and can be written; whole numbers are good as ids."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    text = str(value) if is_number else value
    if text is None or (isinstance(text, str) and not text.strip()):
        wrong(f"{name} is empty: fill it in, or leave the row out")
    elif not isinstance(text, str):
        wrong(f"{name} is of type {type(value).__name__}: want text")
    elif _LONE_SURROGATE.search(text):
        wrong(f"{name} holds half a character (a lone surrogate): mend the text")
    else:
        return text
    return None


def _answer(text: str | None, wrong: Callable[[str], None]) -> str | None:
    if text is None:
        return None
    answer = ANSWER_WORDS.get(text.strip().casefold())
    if answer is None:
        shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
        wrong(f"answer is {shown!r}: want one of {', '.join(ANSWER_WORDS)}")
    return answer


_WRONG = float("inf")


def _similarity(value: Any, wrong: Callable[[str], None]) -> float | None:
    if value is None or value == "":
        return None
    try:
        similarity = float(value)
    except (TypeError, ValueError):
        similarity = _WRONG
    if math.isnan(similarity) or -1.0 <= similarity <= 1.0:
        return similarity
    wrong("similarity is no cosine: want a number from -1 to 1, or nothing to have it computed")
    return _WRONG


def _differing(
    rows: Sequence[PairRow], key: Callable[[PairRow], Any], value: Callable[[PairRow], str], what: str
) -> list[str]:
    seen: dict[Any, dict[str, int]] = {}
    for row in rows:
        seen.setdefault(key(row), {}).setdefault(value(row), row.number)
    found = [f"{name} {what} ({_named(list(n.values()))})" for name, n in seen.items() if len(n) > 1]
    more = len(found) - _SHOWN_KEYS
    return found[:_SHOWN_KEYS] + ([f"and {more} more that have two of these"] if more > 0 else [])


def _named(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, rows[:_SHOWN_ROWS]))
    more = len(rows) - _SHOWN_ROWS
    return f"row {shown}" + (f" and {more} more" if more > 0 else "")
