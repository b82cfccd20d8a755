"""How a person sees the runs and the checks; JSON is for everything else."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from jobs.doctor import Check

console = Console(highlight=False)
_UNKNOWN = "-"


def number(value: float | None) -> str:
    """Return a share with three decimals."""
    return _UNKNOWN if value is None else f"{value:.3f}"


def print_pairs(title: str, values: Mapping[str, Any]) -> None:
    """Print a title and one line a value, numbers below each other; nothing where there are none."""
    if not values:
        return
    console.print(f"\n{title}")
    for name, value in values.items():
        shown = f"{value:>12,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        console.print(f"  {name.replace('_', ' '):<32}{shown:>12}", soft_wrap=True, markup=False)


def print_runs(runs: Sequence[dict[str, Any]]) -> None:
    """Print one line a run, newest first."""
    names = ("run", "state", "labeler", "members", "scored", "reused", "labels", "f1", "seconds")
    table = Table(*(Column(name, no_wrap=True) for name in names), box=None)
    for run in runs:
        counts = [
            f"{run[name]:,}" if name in run else _UNKNOWN for name in ("members", "scored", "pairs_reused", "labels")
        ]
        f1 = number((run["quality"] or {}).get("f1"))
        state = f"failed at {run['failed_step']}" if run["failed_step"] else run["state"]
        state += "" if run["is_validated"] else ", unvalidated"
        state += ", its hold stands" if run["hold"] else ""
        seconds = f"{run['seconds']:.1f}" if run["seconds"] else _UNKNOWN
        table.add_row(run["run_id"], state, run["labeler_version"], *counts, f1, seconds)
    Console(highlight=False, width=None if console.is_terminal else 160).print(
        table if runs else "No runs yet: `semlabel refresh weekly_full` starts one."
    )


def print_run(run: dict[str, Any]) -> None:
    """Print a run's pins and events."""
    failure = run["failure"] or {}
    at = f" at {failure['step']}" if failure.get("step") else ""
    console.print(f"[bold]{run['run_id']}[/bold] {run['state']}{at}")
    if failure:
        console.print(failure["reason"], soft_wrap=True, markup=False)
    print_pairs("Pins", {name: str(value) for name, value in run["pins"].items() if value != "" and name != "run_id"})
    console.print("\nEvents")
    for event in run["events"]:
        console.print(f"  {event['at'][:19]}  {event['event']:<28} {event['payload']}", soft_wrap=True)


def print_freshness(found: dict[str, Any]) -> None:
    """Print how old the labels are."""
    limit = f"{found['limit_hours']:g} h are allowed"
    if found["age_hours"] is None:
        console.print(f"[bold]stale[/bold]: no run has published labels yet; {limit}")
    else:
        word = "fresh" if found["is_fresh"] else "stale"
        age = f"the labels are as of {found['age_hours']:.1f} h ago ({found['run_id']})"
        console.print(f"[bold]{word}[/bold]: {age}; {limit}", soft_wrap=True)


def print_approved(approved: dict[str, Any]) -> None:
    """Print what was approved, and how the run goes on."""
    console.print(f"[bold]{approved['run_id']}[/bold] approved")
    for reason in approved["approved"]:
        console.print(f"  {reason}", soft_wrap=True)
    console.print(f"Next: {approved['next']}", soft_wrap=True)


def print_checks(checks: Sequence[Check]) -> None:
    """Print one line a check."""
    for check in checks:
        mark = "ok" if check.is_ok else ("--" if check.is_optional else "NO")
        console.print(f"{mark}  {check.name:<14}{check.message}", soft_wrap=True)


def print_deployment(status: dict[str, Any]) -> None:
    """Print where the services are, and the state of each."""
    for name in ("airflow", "login", "metrics", "mlflow", "logs"):
        console.print(f"{name:<8} {status[name]}", soft_wrap=True)
    table = Table("service", "state", "pid", box=None)
    for one in status["services"]:
        table.add_row(one["name"], one["state"], str(one["pid"] or _UNKNOWN))
    console.print(table if status["services"] else "nothing runs: `semlabel deployment up` starts it")
