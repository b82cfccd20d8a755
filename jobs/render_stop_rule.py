"""How a person sees the frontier of round rules."""

from typing import Any

from rich.console import Console
from rich.table import Column, Table

_console = Console(highlight=False)


def print_stop_rule(found: dict[str, Any]) -> None:
    """Print one line a rule, the rule of the newest run marked."""
    _console.print(
        f"{found['sampled']:,} members judged to the end, of {found['members_judged']:,} judged in "
        f"{len(found['run_ids'])} run(s): {', '.join(found['run_ids'])}",
        soft_wrap=True,
    )
    names = ("N", "stop below", "labels lost", "share", "interval", "pairs saved", "share", "")
    table = Table(*(Column(name, no_wrap=True, justify="right") for name in names), box=None)
    for point in found["points"]:
        lost, saved = point["labels_lost_share"], point["pairs_saved_share"]
        is_now = all(point[name] == value for name, value in found["rule"].items())
        table.add_row(
            str(point["candidates_per_round"]),
            f"{point['stop_below']:.1%}",
            f"{point['labels_lost']['total']:,.0f}",
            f"{lost['total']:.2%}",
            f"{lost['low']:.2%} to {lost['high']:.2%}",
            f"{point['pairs_saved']['total']:,.0f}",
            f"{saved['total']:.1%}",
            "the rule now" if is_now else "",
        )
    Console(highlight=False, width=None if _console.is_terminal else 120).print(table)
    _console.print(f"Shares of what there would be without stopping. Interval of {found['interval']}.", soft_wrap=True)
    _console.print(f"Plot  {found['plot']}", soft_wrap=True)
