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


def bounds_of(plan: Mapping[str, Any], figure: str) -> list[str]:
    """Return a figure at least, as expected and at most."""
    digits = 2 if figure == "cost" else 0
    values = (plan[figure][bound] for bound in BOUNDS)
    return ["-" if value is None else f"{value:,.{digits}f}" for value in values]


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
            f"Expected by {plan['expected_by']['basis']}.",
        ]
    )
