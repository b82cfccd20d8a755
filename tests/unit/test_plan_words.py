"""A plan's figures are called and written alike on the terminal, in an approval and in a run's report."""

from typing import Any

from jobs.plan_words import FIGURE_NAMES, bounds_of, plan_as_markdown, sample_line

PLAN: dict[str, Any] = {
    "members": 1200,
    "reasons": {"catalog_entry_added": 1000, "retired": 200},
    "expected_by": {"basis": "the rounds of a run"},
    "stop_sample": {"members": 0},
    **{figure: {"min": 0, "expected": 1234.6, "max": None} for figure in FIGURE_NAMES},
}


def test_money_has_cents_and_what_is_not_known_is_no_number() -> None:
    assert bounds_of(PLAN, "cost") == ["0.00", "1,234.60", "-"] and bounds_of(PLAN, "tokens") == ["0", "1,235", "-"]


def test_an_approval_says_who_is_looked_at_and_why_and_what_it_may_cost() -> None:
    shown = plan_as_markdown(PLAN)
    assert shown.startswith("1,200 members in scope, and why: catalog entry added 1,000, retired 200\n")
    assert "\n| cost, USD | 0.00 | 1,234.60 | - |\n" in shown and shown.endswith("Expected by the rounds of a run.")
    assert "why" not in plan_as_markdown(PLAN | {"members": 0, "reasons": {}})


def test_what_the_sample_past_its_stop_takes_stands_apart() -> None:
    bounds = {"min": 0, "expected": 4200.4, "max": 15000}
    drawn = {"stop_sample": {"members": 100, "pairs": bounds, "cost": bounds | {"expected": 0.126}}}
    line = sample_line(PLAN | drawn)
    assert "100 members go on" in line and "4,200 pairs expected, 0 to 15,000, at 0.13 USD" in line
    assert line in plan_as_markdown(PLAN | drawn) and sample_line(PLAN) == ""
