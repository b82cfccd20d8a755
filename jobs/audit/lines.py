"""The pieces that the printed answers share: a line, a table, a value that may be unknown."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

console = Console(highlight=False)
_WIDE = 200  # of a table that goes to a file or a pipe
_UNKNOWN = "-"


def line(name: str, value: str) -> None:
    """Print a named value."""
    console.print(f"  {name:<12}{escape(value)}", soft_wrap=True)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under a head; only the column `text` may wrap."""
    found = Table(*(Column(name, no_wrap=name != "text") for name in head), box=None)
    for row in rows:
        found.add_row(*(escape(shown(value)) for value in row))
    Console(highlight=False, width=None if console.is_terminal else _WIDE).print(found)


def state(found: dict[str, Any]) -> None:
    """Print the state with its reason and moment, and why it is stale."""
    asked = found["as_of"]["asked"]
    when = f" as of {asked} (after {shown(found['as_of']['run_id'])})" if asked else ""
    console.print(f"[bold]{found['state']}[/bold]{escape(when)}: {escape(found['reason'])}", soft_wrap=True)
    for one in found["stale_reasons"]:
        line("stale", one["reason"])


def coverage(row: dict[str, Any] | None) -> None:
    """Print how far the run judged the member that the labels stand on."""
    if row is not None:
        judged = f"{row['judged']} of {row['candidates']} candidates judged in {row['rounds']} round(s)"
        line("coverage", f"{judged}, {row['accepted']} accepted; {row['stop_reason']}")


def run(row: dict[str, Any]) -> str:
    """Name a run with its DAG run."""
    published = f", published {row['published_at'][:19]}" if row["published_at"] else ""
    return f"{row['run_id']} ({shown(row['kind'])}, DAG run {shown(row['trigger_id'])}){published}"


def short(value: str | None) -> str:
    """Return the start of a digest."""
    return _UNKNOWN if value is None else value[:12]


def number(value: float | None) -> str:
    """Return a score or a margin."""
    return _UNKNOWN if value is None else f"{value:.4f}"


def shown(value: Any) -> str:
    """Return any value."""
    return _UNKNOWN if value is None else str(value)
