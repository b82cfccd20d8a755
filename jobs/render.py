"""How a person sees a report, the runs and the checks; JSON is for everything else."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from jobs.doctor import Check
from jobs.settings import Settings

_console = Console(highlight=False)
_UNKNOWN = "-"


def print_report(report: dict[str, Any], settings: Settings) -> None:
    """Print a run's summary: quality first, then what it did, where things are, and what to try next."""
    _console.print(f"\n[bold]Run {report['run_id']}[/bold]")
    _print_quality(report)
    _print_pairs("Counts", report["counts"])
    _print_pairs("Members by stop reason", report["stop_reasons"])
    _print_pairs("Members left out", report["left_out"])
    _print_pairs("Labels changed", report["changes"])
    _print_pairs("Seconds by stage", {step: f"{seconds:.1f}" for step, seconds in report["seconds"].items()})
    _console.print(f"\nTables   {settings.tables}\nReport   {settings.reports / (report['run_id'] + '.html')}")
    _console.print(f"MLflow   {settings.tracking_uri}\n\nNext, try", soft_wrap=True)
    _console.print(
        "  semlabel runs\n  semlabel audit MEMBER QUALIFICATION\n  semlabel refresh weekly_full --candidates 250"
    )


def _print_quality(report: dict[str, Any]) -> None:
    pins, quality = report["pins"], report["quality"]
    name = f"{pins['labeler']} version {pins['labeler_version']}"
    if not pins["is_validated"]:
        _console.print(f"[bold]unvalidated[/bold]: {pins['unvalidated_reason']}")
    if quality is None:
        _console.print(f"Quality of {name}: no reference answers are known for these members.")
        return
    figures = ", ".join(f"{key} {_number(quality[key])}" for key in ("precision", "recall", "f1"))
    _console.print(f"Published labels of {name}: [bold]{figures}[/bold]")
    lost = ", ".join(
        f"{quality[f'lost_{where}']} {where.replace('_', ' ')}"
        for where in ("in_retrieval", "by_early_stop", "by_scorer")
    )
    _console.print(
        f"Of {quality['supported']} supported pairs: {lost}; recall@{pins['candidates_per_member']} "
        f"{_number(quality['recall_at_k'])}; {quality['unknown_labels']} labels have no known answer and are left out"
    )


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.3f}"


def _print_pairs(title: str, values: dict[str, Any]) -> None:
    if not values:
        return
    _console.print(f"\n{title}")
    for name, value in values.items():
        shown = f"{value:,}" if isinstance(value, int) else value
        _console.print(f"  {str(name).replace('_', ' '):<32}{shown!s:>12}")


def print_runs(runs: Sequence[dict[str, Any]]) -> None:
    """Print one line a run, newest first."""
    names = ("run", "state", "labeler", "members", "scored", "reused", "labels", "f1", "seconds")
    table = Table(*(Column(name, no_wrap=True) for name in names), box=None)
    for run in runs:
        counts = [
            f"{run[name]:,}" if name in run else _UNKNOWN for name in ("members", "scored", "pairs_reused", "labels")
        ]
        f1 = _number((run["quality"] or {}).get("f1"))
        state = f"failed at {run['failed_step']}" if run["failed_step"] else run["state"]
        state += "" if run["is_validated"] else ", unvalidated"
        state += ", its hold stands" if run["hold"] else ""
        seconds = f"{run['seconds']:.1f}" if run["seconds"] else _UNKNOWN
        table.add_row(run["run_id"], state, run["labeler_version"], *counts, f1, seconds)
    Console(highlight=False, width=None if _console.is_terminal else 160).print(
        table if runs else "No runs yet: `semlabel refresh weekly_full` starts one."
    )


def print_run(run: dict[str, Any]) -> None:
    """Print a run's pins and events."""
    _console.print(f"[bold]{run['run_id']}[/bold] {run['state']}")
    if run["failure"]:
        step = run["failure"].get("step")
        where = f"at {step}: " if step else ""
        _console.print(f"failed {where}{run['failure']['reason']}", soft_wrap=True, markup=False)
    _print_pairs("Pins", {name: str(value) for name, value in run["pins"].items() if name != "run_id"})
    _console.print("\nEvents")
    for event in run["events"]:
        _console.print(f"  {event['at'][:19]}  {event['event']:<28} {event['payload']}", soft_wrap=True)


def print_freshness(found: dict[str, Any]) -> None:
    """Print how old the labels are."""
    limit = f"{found['limit_hours']:g} h are allowed"
    if found["age_hours"] is None:
        _console.print(f"[bold]stale[/bold]: no run has published labels yet; {limit}")
    else:
        word = "fresh" if found["is_fresh"] else "stale"
        age = f"the labels are as of {found['age_hours']:.1f} h ago ({found['run_id']})"
        _console.print(f"[bold]{word}[/bold]: {age}; {limit}", soft_wrap=True)


def print_approved(approved: dict[str, Any]) -> None:
    """Print what was approved, and how the run goes on."""
    _console.print(f"[bold]{approved['run_id']}[/bold] approved")
    for reason in approved["approved"]:
        _console.print(f"  {reason}", soft_wrap=True)
    _console.print(f"Next: {approved['next']}", soft_wrap=True)


def print_checks(checks: Sequence[Check]) -> None:
    """Print one line a check."""
    for check in checks:
        mark = "ok" if check.is_ok else ("--" if check.is_optional else "NO")
        _console.print(f"{mark}  {check.name:<14}{check.message}", soft_wrap=True)


def print_deployment(status: dict[str, Any]) -> None:
    """Print where the services are, and the state of each."""
    for name in ("airflow", "login", "metrics", "mlflow", "logs"):
        _console.print(f"{name:<8} {status[name]}", soft_wrap=True)
    table = Table("service", "state", "pid", box=None)
    for one in status["services"]:
        table.add_row(one["name"], one["state"], str(one["pid"] or _UNKNOWN))
    _console.print(table if status["services"] else "nothing runs: `semlabel deployment up` starts it")
