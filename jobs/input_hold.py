"""Holds on inputs: placed by a rollback, honoured by plans and publications, released by a person.

A *hold* keeps an artifact, a catalog version or members from every run until it is released. A run that is *held*
(`jobs.hold`) is another thing: one publication past a limit, which waits for its approval.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.pins import Pins
from jobs.rules.hold import Hold, Input
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_path import table_exists
from jobs.table_reader import literal, query
from jobs.table_writer import append_rows
from mis_scoring.core.identity import digest
from schemas.holds import HOLDS

PLACED, RELEASED = "placed", "released"


def place_hold(root: Path, pins: Pins, input: Input, *, undone: Pins, reason: str, who: str) -> str:
    """Place the hold of a rollback, once, and return its id.

    Args:
        pins: of the rollback; `undone`: of the run that it takes back.
    """
    value = {"artifact": undone.artifact_id, "catalog": undone.catalog_version, "members": pins.run_id}[input]
    hold_id = f"hold-{digest({'run_id': pins.run_id})[:12]}"
    create_missing(root, HOLDS)
    _append(root, hold_id, PLACED, input=input, value=value, run_id=pins.run_id, reason=reason, who=who)
    return hold_id


def release_hold(settings: Settings, hold_id: str, *, reason: str, who: str) -> dict[str, Any]:
    """Let runs use what was on hold again, and return the hold.

    Raises:
        MissingRequirementError: there is no such hold; lists those that stand.
        CheckFailedError: it is released already.
    """
    root = settings.tables
    found = {row["event"]: row for row in _rows(root, f"hold_id = {literal(hold_id)}")}
    if PLACED not in found:
        standing = ", ".join(row["hold_id"] for row in show_holds(root)) or "none"
        raise MissingRequirementError(f"No hold {hold_id!r} in {root}; these stand: {standing}.")
    if RELEASED in found:
        earlier = found[RELEASED]
        raise CheckFailedError(
            f"Hold {hold_id} was released at {earlier['at']:%Y-%m-%d %H:%M} UTC by {earlier['who']}."
        )
    placed = {name: found[PLACED][name] for name in ("input", "value", "run_id")}
    _append(root, hold_id, RELEASED, **placed, reason=reason, who=who)
    return {"hold_id": hold_id, **placed, "released_by": who}


def standing_holds(root: Path) -> list[Hold]:
    """Return the holds that are not released."""
    return [Hold(hold_id=row["hold_id"], input=row["input"], value=row["value"]) for row in show_holds(root)]


def show_holds(root: Path) -> list[dict[str, Any]]:
    """Return the holds that are not released as a person reads them, oldest first."""
    rows = _rows(root, f"hold_id NOT IN (SELECT hold_id FROM holds WHERE event = '{RELEASED}')")
    return [{name: value for name, value in row.items() if name != "event"} for row in rows]


def _append(root: Path, hold_id: str, event: str, **columns: str) -> None:
    row = {"hold_id": hold_id, "event": event, "at": datetime.now(UTC), **columns}
    append_rows(root, HOLDS, [row], transaction=f"{hold_id}:{event}")


def _rows(root: Path, where: str) -> list[dict[str, Any]]:
    if not table_exists(root, HOLDS):
        return []
    return query(root, f"SELECT * FROM holds WHERE {where} ORDER BY at", HOLDS)
