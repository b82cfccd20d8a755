"""How a person sees what was revoked, rolled back, held and released."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

_console = Console(highlight=False)
_MOST_SHOWN = 20


def print_revoked(done: dict[str, Any]) -> None:
    """Print what a revocation concerns and may cost."""
    head = (
        f"[bold]{done['revocation_id']}[/bold] revokes" if done["revocation_id"] else "Nothing was revoked. It would be"
    )
    _console.print(f"{head} {done['judgments']:,} judgments, of queries of {done['members']:,} members")
    _console.print(f"  published labels made with them   {done['labels']:,}")
    for name in ("pairs", "tokens", "seconds", "cost_usd"):
        value = done[f"{name}_at_most"]
        _console.print(f"  {f'repair, {name} at most':<34}{'not known' if value is None else f'{value:,}'}")
    if done["revocation_id"]:
        _console.print("Next: any refresh repairs them, `semlabel refresh daily_incremental` say", soft_wrap=True)


def print_rolled_back(done: dict[str, Any]) -> None:
    """Print what a rollback restored, what it left, and how its hold ends."""
    _console.print(f"[bold]{done['run_id']}[/bold] takes {done['rolls_back']} back", soft_wrap=True)
    changes = ", ".join(f"{n:,} {change}" for change, n in done["changes"].items()) or "none: nothing was committed"
    _console.print(f"  labels changed           {changes}")
    _console.print(f"  members restored         {done['members_restored']:,}")
    _console.print(f"  kept a newer run's       {done['members_kept']:,}{_some(done['kept'])}", soft_wrap=True)
    _console.print(f"  gone from profiles       {done['members_gone']:,}")
    _console.print(f"  labels without an entry  {done['labels_without_entry']:,} not restored")
    _console.print(f"On hold: {done['hold']}. `semlabel release {done['hold_id']}` ends it", soft_wrap=True)


def print_released(done: dict[str, Any]) -> None:
    """Print which hold was released."""
    what = "the members" if done["input"] == "members" else f"{done['input']} {done['value']}"
    _console.print(f"[bold]{done['hold_id']}[/bold] released: {what} of {done['run_id']}", soft_wrap=True)
    _console.print(
        "Next: any refresh looks at these members again, `semlabel refresh daily_incremental` say", soft_wrap=True
    )


def print_holds(holds: Sequence[dict[str, Any]]) -> None:
    """Print a line for each hold that stands."""
    for hold in holds:
        what = (
            f"members restored by {hold['run_id']}"
            if hold["input"] == "members"
            else f"{hold['input']} {hold['value']}"
        )
        why = f": {hold['reason']}" if hold["reason"] else ""
        _console.print(
            f"[bold]on hold[/bold] {what}, since {hold['at']:%Y-%m-%d %H:%M} UTC by {hold['who']}{why}; "
            f"`semlabel release {hold['hold_id']}` ends it",
            soft_wrap=True,
        )


def _some(ids: Sequence[str]) -> str:
    if not ids:
        return ""
    shown = ", ".join(ids[:_MOST_SHOWN]) + (", ..." if len(ids) > _MOST_SHOWN else "")
    return f" ({shown}; --force takes them back, too)"
