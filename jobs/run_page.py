"""The page of a run's report: what `<run_id>.json` holds, for a person; no outside resource, no member named."""

from pathlib import Path
from typing import Any

from jobs.page_templates import render_page
from jobs.plan_words import FIGURE_NAMES, OF_SAMPLE
from jobs.run_plots import drift_plot, pairs_plot, rounds_plot, seconds_plot


def write_page(path: Path, report: dict[str, Any]) -> None:
    """Write the page beside the JSON file."""
    judged = [row for row in report["rounds"] if row["judged"]]
    rated = [row for row in report["drift"] if row["share"] is not None or row["before"] is not None]
    plots = {
        "pairs": pairs_plot(report["funnel"]),
        "rounds": rounds_plot(report["rounds"], report["pins"]["stop_below"]) if judged else None,
        "seconds": seconds_plot(report["seconds_by_job"]),
        "drift": drift_plot(rated) if rated else None,
    }
    names = FIGURE_NAMES | {OF_SAMPLE: "pairs past the stop, of the sample"}
    page = render_page("run_report.html.j2", r=report, pins=report["pins"], plots=plots, figure_names=names)
    path.write_text(page, encoding="utf-8")
