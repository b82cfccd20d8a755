"""How a label came to be, as steps from the inputs to the label: which were reached, and where the way ended.

Pure: it takes an audit (`jobs.audit`), its nested keys joined by dots, and knows no table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jobs.labeler.shown import shown
from jobs.web.lineage_parts import PARTS, Part

StepState = Literal["reached", "ended", "not_reached"]

_ORDER = [part.name for part in PARTS]
_LONGEST_LINE = 23  # characters that fit a box
_SHORT_DIGEST = 10
_COLUMN, _BOX_WIDTH, _BOX_HEIGHT = 205, 172, 92  # of the drawing's 1000 by 330 units


@dataclass(frozen=True, kw_only=True)
class Step:
    """A box of the picture, with the arrows that lead to it."""

    name: str
    title: str
    lines: tuple[str, ...]
    state: StepState
    x: int
    y: int
    arrows: tuple[str, ...]


def steps_of(audit: Mapping[str, Any]) -> list[Step]:
    """Return the boxes of the picture, inputs first.

    Args:
        audit: flat, as `jobs.web.facts.flat` returns it.
    """
    by_name = {part.name: part for part in PARTS}
    ended_at = _ended_at(audit)
    return [
        Step(
            name=part.name,
            title="No label" if part.name == ended_at == "label" else part.title,
            lines=_lines(part, audit),
            state=_state(part, ended_at, audit),
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
    return f"{way} The way ended at: {', '.join(ended)}." if ended else way


def _ended_at(audit: Mapping[str, Any]) -> str | None:
    """Return the step that the pair did not pass; None of a label."""
    state = audit["state"]
    if state == "not_evaluated":
        is_covered, is_candidate = audit.get("coverage.run_id") is not None, audit.get("rank") is not None
        return "profile" if not is_covered else "round" if is_candidate else "retrieval"
    return {"accepted": None, "rejected": "label", "not_in_catalog": "entry", "erased": "profile"}.get(
        state, "retrieval"
    )


def _state(part: Part, ended_at: str | None, audit: Mapping[str, Any]) -> StepState:
    if part.name == ended_at:
        return "ended"
    if not part.follows:  # an input
        return "reached" if _lines(part, audit) else "not_reached"
    return "reached" if ended_at is None or _ORDER.index(part.name) < _ORDER.index(ended_at) else "not_reached"


def _lines(part: Part, audit: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_line(word, audit[key]) for word, key in part.facts if audit.get(key) is not None)


def _line(word: str, value: Any) -> str:
    is_time = isinstance(value, str) and value[10:11] == "T"
    full = value[:16].replace("T", " ") if is_time else shown(value)
    short = f"{full[:_SHORT_DIGEST]}…" if full.endswith("...") else full
    text = f"{word} {short}".strip().replace("_", " ")
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"


def _x(part: Part) -> int:
    return 4 + part.column * _COLUMN


def _arrow(earlier: Part, later: Part) -> str:
    """Return the path of a curve from one box's right side to the next one's left side."""
    x, y = _x(earlier) + _BOX_WIDTH, earlier.y + _BOX_HEIGHT // 2
    end_x, end_y = _x(later) - 3, later.y + _BOX_HEIGHT // 2
    bend = (end_x - x) // 2
    return f"M{x} {y}C{x + bend} {y} {end_x - bend} {end_y} {end_x} {end_y}"
