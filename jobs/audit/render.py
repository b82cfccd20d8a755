"""How a person sees a label set, a history, a diff, a replay and an erasure; JSON is for everything else."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape

from jobs.audit import lines


def print_member(found: dict[str, Any]) -> None:
    """Print a member's label set, best candidate first."""
    lines.state(found)
    lines.coverage(found["coverage"])
    if found["confirmed"] is not None:
        lines.line("confirmed", lines.run(found["confirmed"]))
    shown = ("qualification_id", "category", "text", "score", "rank", "round")
    if found["labels"]:
        rows = [[_value(label[name]) for name in shown] for label in found["labels"]]
        lines.table(("qualification", *shown[1:]), rows)


def print_history(changes: Sequence[dict[str, Any]]) -> None:
    """Print one line a change, oldest first."""
    if not changes:
        lines.console.print("No published run has changed a label of this member.")
        return
    names = ("run_id", "qualification_id", "change", "reason")
    rows = [[one["published_at"][:19], *(one[name] for name in names), *_scores(one)] for one in changes]
    lines.table(("published", "run", "qualification", "change", "reason", "before", "after"), rows)


def print_run_diff(found: dict[str, Any]) -> None:
    """Print the counts by change and reason, then the changes that are listed."""
    differ = f"[bold]{found['n_changes']:,} labels differ[/bold]"
    lines.console.print(f"{differ} after {found['run_b']} from after {found['run_a']}", soft_wrap=True)
    for change, reasons in found["counts"].items():
        for reason, n in reasons.items():
            lines.console.print(f"  {change:<8} {reason.replace('_', ' '):<24}{n:>12,}")
    names = ("member_id", "qualification_id", "change", "reason")
    rows = [[*(one[name] for name in names), *_scores(one)] for one in found["changes"]]
    if rows:
        lines.table(("member", "qualification", "change", "reason", "before", "after"), rows)
    if len(rows) < found["n_changes"]:
        lines.console.print(f"and {found['n_changes'] - len(rows):,} more: --limit lists them")


def print_replay(result: dict[str, Any]) -> None:
    """Print what was scored again, and each label that did not come out the same."""
    word = "not the same" if result["n_mismatches"] else "same"
    lines.console.print(f"[bold]{word}[/bold]: {result['n_same']} of {result['n_labels']} came out as published")
    lines.line("engine", result["engine"])
    if result["max_difference"] is not None:
        lines.line("margins", f"moved by {result['max_difference']:.2e} at most")
    for one in result["mismatches"]:
        pair = escape(f"{one['member_id']} {one['qualification_id']}")
        lines.console.print(f"  {pair}: [bold]{one['mismatch']}[/bold], {escape(one['detail'])}", soft_wrap=True)


def print_forgotten(done: dict[str, Any]) -> None:
    """Print what an erasure removed, and what is left to do."""
    lines.console.print(f"[bold]erased[/bold]: {escape(done['member_id'])}")
    lines.line("rows", ", ".join(f"{name} {n}" for name, n in done["rows_deleted"].items()) or "none")
    rewritten = f"{done['staged_rewritten']} staged and {done['work_files']} of work folders rewritten"
    lines.line("files", f"{done['files_deleted']} deleted, {rewritten}")
    if done["updates_deleted"] or done["is_in_store"]:
        served = "the labels" if done["is_in_store"] else "no label"
        lines.line("served", f"{done['updates_deleted']} update(s) of the inbox, {served} of the key-value store")
    if done["texts_shared"]:
        lines.line("kept", f"{done['texts_shared']} text(s) that another member has word for word")
    if done["labelers_gone"]:
        lines.line(
            "unknown", f"{done['labelers_gone']} labeler(s) are gone: their queries are found where a row names them"
        )
    if done["is_in_profiles"]:
        lines.line("left", "the source still has the profile: remove it there; no run labels it from now on")


def _scores(change: dict[str, Any]) -> list[str]:
    return [lines.number((change[side] or {}).get("score")) for side in ("before", "after")]


def _value(value: Any) -> Any:
    return lines.number(value) if isinstance(value, float) else value
