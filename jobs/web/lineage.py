"""How a label came to be, as steps from the inputs to the label: which were reached, and where the way ended.

Pure: it takes an audit (`jobs.audit_label`) and knows no table. A step is reached when the audit has a fact of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jobs.labeler.shown import shown

StepState = Literal["reached", "ended", "not_reached"]

_LONGEST_LINE = 25  # characters that fit a box
_COLUMN, _BOX_WIDTH, _BOX_HEIGHT = 205, 172, 92  # of the drawing's 1000 by 330 units


@dataclass(frozen=True, kw_only=True)
class Part:
    """A step of the way, before it is known whether it was reached.

    Attributes:
        name: of the section that has all its facts.
        facts: keys of the audit, as (word before it, key); the first three that are known are shown.
        column, y: where its box stands.
    """

    name: str
    title: str
    facts: tuple[tuple[str, str], ...]
    column: int
    y: int
    follows: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Step:
    """A box of the picture, with the ends of the arrows that lead to it."""

    name: str
    title: str
    lines: tuple[str, ...]
    state: StepState
    x: int
    y: int
    arrows: tuple[str, ...]


PARTS = (
    Part(
        name="profile",
        title="Profile",
        facts=(("version", "profile_version"), ("query", "query_hash")),
        column=0,
        y=4,
    ),
    Part(
        name="entry",
        title="Catalog entry",
        facts=(("catalog", "catalog_version"), ("item", "item_hash")),
        column=0,
        y=119,
    ),
    Part(
        name="labeler",
        title="Labeler",
        facts=(("artifact", "artifact_id"), ("scorer", "scorer_id"), ("threshold", "threshold")),
        column=0,
        y=234,
    ),
    Part(
        name="retrieval",
        title="Retrieval",
        facts=(("rank", "rank"), ("similarity", "similarity")),
        column=1,
        y=62,
        follows=("profile", "entry"),
    ),
    Part(name="round", title="Round", facts=(("round", "round"),), column=2, y=62, follows=("retrieval",)),
    Part(
        name="judgment",
        title="Judgment",
        facts=(("score", "score"), ("margin", "margin"), ("on", "judged_at")),
        column=3,
        y=148,
        follows=("round", "labeler"),
    ),
    Part(
        name="label",
        title="Label",
        facts=(("published by", "published_run_id"), ("since", "since_run_id")),
        column=4,
        y=148,
        follows=("judgment",),
    ),
)


def steps_of(audit: Mapping[str, Any]) -> list[Step]:
    """Return the boxes of the picture, inputs first."""
    by_name = {part.name: part for part in PARTS}
    known = {part.name: _known(part, audit) for part in PARTS}
    return [
        Step(
            name=part.name,
            title=part.title,
            lines=tuple(_line(word, audit[key]) for word, key in known[part.name][:3]),
            state=_state(part, known),
            x=_x(part),
            y=part.y,
            arrows=tuple(_arrow(by_name[earlier], part) for earlier in part.follows),
        )
        for part in PARTS
    ]


def told_of(steps: list[Step]) -> str:
    """Say in words what the picture shows."""
    reached = [step.title for step in steps if step.state == "reached"]
    ended = [step.title for step in steps if step.state == "ended"]
    way = f"Reached: {', '.join(reached) or 'nothing'}."
    return f"{way} The way ended before: {', '.join(ended)}." if ended else way


def _known(part: Part, audit: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(word, key) for word, key in part.facts if audit.get(key) is not None]


def _state(part: Part, known: Mapping[str, Any]) -> StepState:
    if known[part.name]:
        return "reached"
    return "ended" if all(known[earlier] for earlier in part.follows) else "not_reached"


def _line(word: str, value: Any) -> str:
    text = f"{word} {shown(value)}"
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"


def _x(part: Part) -> int:
    return 4 + part.column * _COLUMN


def _arrow(earlier: Part, later: Part) -> str:
    """Return the path of a curve from one box's right side to the next one's left side."""
    x, y = _x(earlier) + _BOX_WIDTH, earlier.y + _BOX_HEIGHT // 2
    end_x, end_y = _x(later) - 3, later.y + _BOX_HEIGHT // 2
    bend = (end_x - x) // 2
    return f"M{x} {y}C{x + bend} {y} {end_x - bend} {end_y} {end_x} {end_y}"
