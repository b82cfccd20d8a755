"""What a plan's figures are called and how they are written, wherever a person sees them; and a plan as Markdown."""

from collections.abc import Mapping
from typing import Any

from jobs.run_price import BOUNDS

FIGURE_NAMES = {
    "pairs_to_score": "pairs to score",
    "pairs_reused": "pairs reused",
    "tokens": "tokens",
    "gpu_seconds": "seconds of scoring",
    "cost": "cost, USD",
    "labels_that_may_change": "labels that may change",
}


OF_SAMPLE = "past_stop_pairs"
"""In a report, the row of the pairs that the sample past its stop took; `FIGURE_NAMES` are of what the run needs."""


def bounds_of(plan: Mapping[str, Any], figure: str) -> list[str]:
    """Return a figure at least, as expected and at most."""
    digits = 2 if figure == "cost" else 0
    values = (plan[figure][bound] for bound in BOUNDS)
    return ["-" if value is None else f"{value:,.{digits}f}" for value in values]


def sample_line(plan: Mapping[str, Any]) -> str:
    """Return what the sample that prices early stopping takes on top; empty where the run draws none."""
    sample = plan["stop_sample"]
    if not sample["members"]:
        return ""
    pairs, (_, cost, _) = bounds_of(sample, "pairs"), bounds_of(sample, "cost")
    return (
        f"On top, {sample['members']:,} members go on past their stop to price it: {pairs[1]} pairs expected, "
        f"{pairs[0]} to {pairs[2]}, at {cost} USD."
    )


def plan_as_markdown(plan: Mapping[str, Any]) -> str:
    """Return what a person approves: who is looked at and why, the figures, and what they rest on."""
    reasons = ", ".join(f"{reason.replace('_', ' ')} {members:,}" for reason, members in plan["reasons"].items())
    rows = [f"| {name} | {' | '.join(bounds_of(plan, figure))} |" for figure, name in FIGURE_NAMES.items()]
    return "\n".join(
        [
            f"{plan['members']:,} members in scope{f', and why: {reasons}' if reasons else ''}",
            "",
            "| | at least | expected | at most |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            *((line, "") if (line := sample_line(plan)) else ()),
            f"Expected by {plan['expected_by']['basis']}.",
        ]
    )
