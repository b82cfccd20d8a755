"""How a person sees a plan and a catalog diff; JSON is for everything else."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from jobs.plan_words import FIGURE_NAMES, bounds_of, sample_line

_console = Console(highlight=False)
_MOST_SHOWN = 5  # entries of a catalog diff, of each kind of change


def print_plan(plan: dict[str, Any]) -> None:
    """Print who is looked at and why, then the figures, then what they rest on."""
    _console.print(f"[bold]Plan {plan['run_id']}[/bold]: {plan['members']:,} members, {plan['members_removed']:,} gone")
    for reason, members in plan["reasons"].items():
        _console.print(f"  {reason.replace('_', ' '):<28}{members:>10,}")
    if not plan["members"] + plan["members_removed"]:
        _console.print("Nobody is in scope: a refresh would find nothing to do, and publish no change.")
        return
    table = Table("", "at least", "expected", "at most", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for figure, name in FIGURE_NAMES.items():
        table.add_row(name, *bounds_of(plan, figure))
    _console.print(table)
    for row in plan["rounds"]:
        least, most = f"{row['members_min']:,}", f"{row['members_max']:,}"
        _console.print(f"  round {row['round']}: {least} members for certain, {most} at most")
    if line := sample_line(plan):
        _console.print(line, soft_wrap=True)
    if pilot := plan["pilot"]:
        spent = f"{pilot['pairs']:,} pairs scored, {pilot['tokens']:,} tokens"
        _console.print(
            f"Pilot {pilot['run_id']}: {pilot['members']:,} members, {spent}; kept for reuse.", soft_wrap=True
        )
    _console.print(f"Expected by {plan['expected_by']['basis']}.", soft_wrap=True)
    for sentence in plan["above_ceiling"]:
        _console.print(f"[bold]Above a ceiling[/bold]: {sentence}", soft_wrap=True)


def print_catalog_diff(found: dict[str, Any]) -> None:
    """Print the counts, some of the entries, and whom the catalog moves."""
    then, now = (f"{side['catalog_version'][:12]} ({side['delta_version']})" for side in (found["then"], found["now"]))
    _console.print(f"[bold]Catalog {then} -> {now}[/bold]")
    for change, count in found["counts"].items():
        _console.print(f"  {change.replace('_', ' '):<20}{count:>8,}")
        first = [entry for entry in found["entries"] if entry["changes"][0] == change]
        for entry in first[:_MOST_SHOWN]:
            _console.print(f"      {_texts(entry)}  ({entry['qualification_id']})", soft_wrap=True, markup=False)
        if len(first) > _MOST_SHOWN:
            _console.print(f"      and {len(first) - _MOST_SHOWN:,} more: --json lists all")
    if not any(found["counts"].values()):
        _console.print("The two are the same: no entry that can be used differs.")
        return
    moved = found["moved"]
    if moved is None:
        _console.print("`semlabel plan catalog_backfill` says whom it moves, and at what price.")
    else:
        _console.print(
            f"By the plan of {moved['run_id']} it moves the candidates of {moved['members']:,} members: "
            f"{moved['came_in']:,} came in, {moved['dropped_out']:,} dropped out.",
            soft_wrap=True,
        )


def _texts(entry: Mapping[str, Any]) -> str:
    texts = dict.fromkeys(text for text in (entry["text_then"], entry["text_now"]) if text is not None)
    categories = dict.fromkeys(one for one in (entry["category_then"], entry["category_now"]) if one is not None)
    moved = f" [{' -> '.join(categories)}]" if len(categories) > 1 else ""
    return " -> ".join(texts) + moved
