"""How a person sees what a refresh did: quality, what was done, where things are, and what to look at next."""

from collections.abc import Mapping
from typing import Any

from jobs.render import console, number, print_pairs
from jobs.settings import Settings
from jobs.table_path import table_exists
from jobs.table_reader import literal, query
from schemas.labels import LABELS

# what a run did, in words; beside the first four only what is there
_COUNTS = {
    "members": "members looked at",
    "scored": "pairs scored",
    "pairs_reused": "pairs reused",
    "labels": "labels published, in all",
    "tokens": "tokens",
    "tie_checked": "pairs rescored at the threshold",
    "past_stop_scored": "pairs scored past the stop",
    "quarantined": "inputs set aside (quarantine)",
}
_ALWAYS = ("members", "scored", "pairs_reused", "labels")


def print_report(report: Mapping[str, Any], settings: Settings) -> None:
    """Print a run's summary."""
    run_id = report["run_id"]
    console.print(f"\n[bold]Run {run_id}[/bold]")
    _print_quality(report)
    print_pairs("What it did", shown_counts(report["counts"]))
    print_pairs("Members by why they stopped", report["stop_reasons"])
    print_pairs("Members who keep their labels from before", report["left_out"])
    print_pairs("Labels changed", report["changes"])
    print_pairs("Seconds by step, all rounds together", shown_seconds(report["seconds_by_job"]))
    where = {
        "Tables": settings.tables,
        "Report": settings.reports / f"{run_id}.html",
        "MLflow": settings.tracking_uri,
    }
    console.print()
    for name, place in where.items():
        console.print(f"{name:<9}{place}", soft_wrap=True, markup=False)
    console.print("\nNext, try")
    commands = next_commands(report, example_label(settings, run_id))
    width = max(len(command) for command in commands)
    for command, what in commands.items():
        console.print(f"  {command:<{width}}   # {what}", soft_wrap=True, markup=False)


def shown_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that a person can use, by what they are called."""
    return {words: counts[name] for name, words in _COUNTS.items() if name in _ALWAYS or counts.get(name)}


def shown_seconds(seconds: Mapping[str, float]) -> dict[str, str]:
    """Return the seconds of the steps that took any, the longest first."""
    longest_first = sorted(seconds.items(), key=lambda step: -step[1])
    return {step: f"{value:.1f}" for step, value in longest_first if value >= 0.05}


def example_label(settings: Settings, run_id: str) -> tuple[str, str] | None:
    """Return the member and the qualification of a label, of the run if it published one; None where there is none."""
    if not table_exists(settings.tables, LABELS):
        return None
    ids = "SELECT member_id, qualification_id FROM labels"
    of_run = query(settings.tables, f"{ids} WHERE published_run_id = {literal(run_id)} LIMIT 1", LABELS)
    for row in of_run or query(settings.tables, f"{ids} LIMIT 1", LABELS):
        return row["member_id"], row["qualification_id"]
    return None


def next_commands(report: Mapping[str, Any], example: tuple[str, str] | None) -> dict[str, str]:
    """Return what to look at after a run, each command with what it shows.

    Args:
        example: member and qualification of a published label.
    """
    run_id, previous = report["run_id"], report["previous_run_id"]
    found = {f"semlabel runs {run_id}": "its versions, and what each step did"}
    if example:
        found[f"semlabel audit {example[0]} {example[1]}"] = "why a label is there"
        found[f"semlabel audit {example[0]}"] = "all labels of this member"
    if previous and report["changes"]:
        found[f"semlabel diff {previous} {run_id}"] = "what it changed"
    if report["pins"]["kind"] == "weekly_full":
        further = report["pins"]["candidates_per_member"] + 50
        found[f"semlabel refresh weekly_full --candidates {further}"] = "looks further, scores only what is new"
    return found


def _print_quality(report: Mapping[str, Any]) -> None:
    pins, quality = report["pins"], report["quality"]
    name = f"{pins['labeler']} version {pins['labeler_version']}"
    if not pins["is_validated"]:
        console.print(f"[bold]unvalidated[/bold]: {pins['unvalidated_reason']}", soft_wrap=True)
    if quality is None:
        console.print(f"Quality of {name}: no reference answers are known for these members.", soft_wrap=True)
        return
    figures = ", ".join(f"{key} {number(quality[key])}" for key in ("precision", "recall", "f1"))
    console.print(f"Published labels of {name}: [bold]{figures}[/bold]", soft_wrap=True)
    console.print(
        f"Of {quality['supported']:,} supported pairs {quality['lost_in_retrieval']:,} are lost in retrieval "
        f"(recall@{pins['candidates_per_member']} {number(quality['recall_at_k'])}), "
        f"{quality['lost_by_early_stop']:,} by early stop, {quality['lost_by_scorer']:,} by the scorer; "
        f"{quality['unknown_labels']:,} labels have no known answer and are left out",
        soft_wrap=True,
    )
