"""Why a plan looks at a member, down to the catalog entry: what scope compares, and what the candidates say."""

from dataclasses import dataclass
from typing import Literal

from jobs.rules.scope import Reason

PlanReason = (
    Reason
    | Literal[
        "catalog_entry_added",
        "catalog_text_changed",
        "retired",
        "catalog_entry_removed",
        "retrieval_moved",
    ]
)


@dataclass(frozen=True, kw_only=True)
class CandidateMoves:
    """How a member's candidates differ from those that its labels stand on, counts.

    Attributes:
        added: candidates now whose entry is new; text_changed: now or then, whose entry has another text.
        retired, removed: candidates then whose entry has gone, in either way.
        came_in, dropped_out: in all.
        moved: came in or dropped out although their entry is as it was: others made or left room.
    """

    added: int
    text_changed: int
    retired: int
    removed: int
    came_in: int
    dropped_out: int
    moved: int


def plan_reasons(scope_reasons: tuple[Reason, ...], moves: CandidateMoves | None) -> tuple[PlanReason, ...]:
    """Return all reasons that hold; `catalog_changed` stays only where the catalog's change touches no candidate.

    Args:
        scope_reasons: `jobs.rules.scope.scope_reasons`.
        moves: None where they are not compared: nothing was labelled yet, the profile or retrieval differs as well, or
            the earlier candidates are not kept any more.
    """
    if moves is None or "catalog_changed" not in scope_reasons:
        return scope_reasons
    found: dict[PlanReason, int] = {
        "catalog_entry_added": moves.added,
        "catalog_text_changed": moves.text_changed,
        "retired": moves.retired,
        "catalog_entry_removed": moves.removed,
        "retrieval_moved": moves.moved,
    }
    entries = tuple(reason for reason, count in found.items() if count)
    others: tuple[PlanReason, ...] = tuple(reason for reason in scope_reasons if reason != "catalog_changed")
    return (*others, *(entries or ("catalog_changed",)))
