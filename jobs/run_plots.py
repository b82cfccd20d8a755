"""The plots of a run's report; each says in words what it shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.plot_svg import BLUE, INK, ORANGE, VIOLET, new_axes, to_svg


def pairs_plot(funnel: Mapping[str, int | None]) -> str:
    """Draw the run's pairs from retrieved to accepted, as bars."""
    names = ("candidates", "judged", "accepted")
    counts = [funnel[name] or 0 for name in names]
    told = ", ".join(f"{count:,} {name}" for name, count in zip(names, counts, strict=True))
    return _bars(names, counts, "pairs", "pairs", f"Pairs of the run: {told}.", "{:,.0f}")


def seconds_plot(seconds_by_job: Mapping[str, float]) -> str:
    """Draw the seconds of each job, in the order of the run, as bars."""
    told = ", ".join(f"{job} {seconds:.1f}" for job, seconds in seconds_by_job.items())
    names, seconds = list(seconds_by_job), list(seconds_by_job.values())
    return _bars(names, seconds, "seconds", "time", f"Seconds by job, all rounds together: {told}.", "{:.1f}")


def rounds_plot(rounds: Sequence[Mapping[str, Any]], stop_below: float) -> str:
    """Draw the share accepted in each round, and the share below which a member stops."""
    judged = [row for row in rounds if row["accepted_share"] is not None]
    axes = new_axes("round", "share accepted", height=2.8)
    shares = [row["accepted_share"] for row in judged]
    axes.plot([row["round"] for row in judged], shares, "o-", color=BLUE, label="accepted, all members together")
    axes.axhline(stop_below, color=INK, linestyle=":", label="a member stops below")
    axes.set_xticks([row["round"] for row in judged])
    axes.set_ylim(0.0, max([*shares, stop_below]) * 1.1 + 0.01)
    told = ", ".join(f"round {row['round']} {row['accepted_share']:.1%}" for row in judged)
    return to_svg(axes, "rounds", f"Share of judged pairs accepted: {told}. A member stops below {stop_below:.1%}.")


def drift_plot(drift: Sequence[Mapping[str, Any]]) -> str:
    """Draw the positive rate of each category, now (filled) and in the run before (hollow)."""
    axes = new_axes("share of judged pairs accepted", "", height=0.8 + 0.4 * len(drift))
    places = range(len(drift))
    for name, key, inside, colour in (("before", "before", "none", ORANGE), ("this run", "share", BLUE, BLUE)):
        known = [(row[key], place) for row, place in zip(drift, places, strict=True) if row[key] is not None]
        if known:
            axes.plot(*zip(*known, strict=True), "o", color=colour, markerfacecolor=inside, markersize=8, label=name)
    axes.set_yticks(places, [row["category"] for row in drift])
    axes.set_ylim(len(drift) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.1 * max(row[key] or 0.0 for row in drift for key in ("before", "share")) + 0.01)
    told = ", ".join(f"{row['category']} {_told(row['share'])} ({_told(row['before'])} before)" for row in drift)
    return to_svg(axes, "drift", f"Share of judged pairs accepted by category: {told}.")


def _bars(names: Sequence[str], values: Sequence[float], unit: str, prefix: str, told: str, form: str) -> str:
    axes = new_axes(unit, "", height=0.8 + 0.35 * len(names))
    bars = axes.barh(range(len(names)), values, color=BLUE, height=0.6)
    axes.bar_label(bars, labels=[form.format(value) for value in values], padding=4, color=INK)
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)
    return to_svg(axes, prefix, told)


def _told(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"


def frontier_plot(points: Sequence[Mapping[str, Any]], now: Mapping[str, Any]) -> str:
    """Draw labels lost over pairs saved, one line a round size; the rule now is filled."""
    axes = new_axes("pairs saved, share of all", "labels lost, share of all")
    told = []
    for place, size in enumerate(dict.fromkeys(point["candidates_per_round"] for point in points)):
        own = [point for point in points if point["candidates_per_round"] == size]
        saved, lost = ([p[name]["total"] for p in own] for name in ("pairs_saved_share", "labels_lost_share"))
        reach = [[abs(p["labels_lost_share"][side] - p["labels_lost_share"]["total"]) for p in own] for side in _SIDES]
        colour = (BLUE, ORANGE, VIOLET)[place % 3]
        axes.errorbar(saved, lost, yerr=reach, fmt="o-", color=colour, markerfacecolor="none", label=f"N = {size}")
        for point, x, y in zip(own, saved, lost, strict=True):
            axes.annotate(f"{point['stop_below']:.0%}", (x, y), xytext=(4, 4), textcoords="offset points", color=INK)
        chosen = [(x, y) for p, x, y in zip(own, saved, lost, strict=True) if now.items() <= p.items()]
        if chosen:
            axes.plot(*chosen[0], "o", color=colour)
            told.append(
                f"the rule now saves {chosen[0][0]:.1%} of the pairs and loses {chosen[0][1]:.2%} of the labels"
            )
    axes.set(xlim=(-0.02, 1.02), ylim=(0.0, None))
    return to_svg(axes, "frontier", f"Labels lost over pairs saved by round rule: {'; '.join(told)}.")


_SIDES = ("low", "high")
