"""How a person sees versions, their differences, a gate and a promotion; JSON is for everything else."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table

_console = Console(highlight=False)
_UNKNOWN = "-"
_SHORT_ID = 12
_LONG_WORD = 40  # a digest, not a sentence


def print_versions(versions: Sequence[dict[str, Any]]) -> None:
    """Print one line a version, newest first."""
    names = ("version", "aliases", "labeler", "artifact", "scorer", "threshold", "f1", "gate", "created")
    table = Table(*(Column(name, no_wrap=True) for name in names), box=None)
    for row in versions:
        ids = [(row[name] or _UNKNOWN)[:_SHORT_ID] for name in ("artifact_id", "scorer_id")]
        figures = [_number(row["threshold"], 6), _number(row["f1"], 4)]
        aliases = ", ".join(row["aliases"]) or _UNKNOWN
        table.add_row(row["version"], aliases, row["labeler"], *ids, *figures, row["gate"], row["created"])
    _wide().print(table if versions else "No versions yet: `semlabel labeler register FOLDER` makes one.")


def print_diff(found: dict[str, Any]) -> None:
    """Print the fields that differ; of the evaluation only how many."""
    one, other = found["versions"]
    _console.print(f"[bold]Version {one} against {other}[/bold]: {found['reuse']}")
    table = Table("field", one, other, box=None)
    for difference in found["fields"]:
        table.add_row(difference["field"], _text(difference["one"]), _text(difference["other"]))
    if found["fields"]:
        _wide().print(table)
    _console.print(f"{len(found['evaluation'])} evaluation figures differ (--json lists them)")


def print_gate(result: dict[str, Any]) -> None:
    """Print each figure with its limit, and the verdict."""
    columns = (Column("check", no_wrap=True), Column("figure"), Column("value", justify="right"), "limit", "")
    table = Table(*columns, box=None)
    for check in result["checks"]:
        for number, figure in enumerate(check["figures"]):
            stage = check["stage"] if number == 0 else ""
            mark = "ok" if figure["holds"] else "[bold]NO[/bold]"
            table.add_row(stage, figure["name"], _text(figure["value"]), _shortened(figure["limit"]), mark)
    _wide().print(table)
    for check in result["checks"]:
        _console.print(f"{'ok' if check['holds'] else 'NO'}  {check['stage']}: {check['asks']}")
        for figure in check["figures"]:
            if not figure["holds"] and figure["note"]:
                _console.print(f"      {figure['name']}: {figure['note']}", soft_wrap=True, markup=False)
    verdict = "passes the gate" if result["holds"] else "does not pass the gate"
    named = f"Version {result['version']} [bold]{verdict}[/bold]"
    _console.print(f"\n{named}; artifact {result['artifact_id']}", soft_wrap=True)


def print_promotion(report: dict[str, Any]) -> None:
    """Print what was promoted, what flips, and what adopting it costs."""
    before = report["previous_version"] or "none"
    _console.print(f"[bold]Version {report['version']}[/bold] is champion; before it: {before}")
    if report["forced"]:
        _console.print(f"  past the gate by force: {report['forced']}", markup=False)
        for fault in report["gate_faults"]:
            _console.print(f"    {fault}", soft_wrap=True, markup=False)
    if report["gate_limits_relaxed"]:
        _console.print(f"  gate limits other than the defaults: {report['gate_limits_relaxed']}", markup=False)
    for title in ("flips", "cost"):
        _console.print(title.capitalize())
        for name, value in report[title].items():
            _console.print(f"  {name.replace('_', ' '):<24}{_text(value)}", soft_wrap=True)


def print_evaluation(figures: dict[str, Any], folder: str) -> None:
    """Print the leading figures and where the report is."""
    test = figures["slices"]["test"]
    _console.print(f"[bold]{figures['labeler']}[/bold] on {test['labeler']['n_pairs']:,} decided test pairs")
    for name in ("labeler", "cosine", "always_no"):
        part = {key: _number(test[name][key], 4) for key in ("precision", "recall", "f1")}
        _console.print(f"  {name.replace('_', ' '):<12}" + "  ".join(f"{key} {value}" for key, value in part.items()))
    balanced, tie = test["balanced"], figures["tie"]
    _console.print(f"  balanced agreement {_number(balanced['expected'], 4)}, threshold {figures['threshold']:.6f}")
    _console.print(f"  tie band {tie['n_in_band']} of {tie['n_pairs']:,} pairs, tie_eps {tie['tie_eps']:.2e}")
    _console.print(f"Report    {folder}/evaluation/report.html\nArtifact  {folder}/labeler", soft_wrap=True)
    _console.print(f"Personal data, keep apart: {folder}/evaluation/borderline.html", soft_wrap=True)


def _wide() -> Console:
    return Console(highlight=False, width=None if _console.is_terminal else 160)


def _number(value: float | None, digits: int) -> str:
    return _UNKNOWN if value is None else f"{value:.{digits}f}"


def _shortened(limit: str) -> str:
    sense, _, value = limit.partition(" ")
    return f"{sense} {_text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = _UNKNOWN if value is None else str(value)
    return f"{text[:_SHORT_ID]}..." if len(text) > _LONG_WORD and " " not in text else text
