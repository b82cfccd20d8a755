"""The evaluation report: one HTML page without outside resources, and the borderline pairs as files of their own."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jobs.labeler.plots import margins_plot, precision_recall_plot, reliability_plot, threshold_plot
from jobs.page_templates import render_page
from mis_scoring.evaluation.borderline import BorderlinePair
from mis_scoring.evaluation.judgement import ScoredPairs

PERSONAL_DATA = "personal data: holds profile texts; stays where it was made, and goes with the members it names"


def write_report(path: Path, figures: dict[str, Any], test: ScoredPairs) -> None:
    """Write the page of what `evaluation.json` holds; no profile text is in it."""
    calibration = figures["slices"]["test"]["calibration"]
    plots = {
        "precision_recall": precision_recall_plot(test, figures["margin"], figures["cosine_cut"]),
        "threshold": threshold_plot(test, figures["margin"]),
        "reliability": reliability_plot(calibration["bins"], calibration["ece"]),
        "margins": margins_plot(test, figures["margin"]),
    }
    path.write_text(render_page("labeler_report.html.j2", f=figures, plots=plots), encoding="utf-8")


def write_borderline(folder: Path, pairs: Sequence[BorderlinePair]) -> None:
    """Write the pairs nearest the threshold as `borderline.html` and `borderline.json`, named as personal data."""
    content = {"notice": PERSONAL_DATA, "pairs": [asdict(pair) for pair in pairs]}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    (folder / "borderline.json").write_text(text + "\n", encoding="utf-8")
    page = render_page("borderline.html.j2", notice=PERSONAL_DATA, pairs=pairs)
    (folder / "borderline.html").write_text(page, encoding="utf-8")
