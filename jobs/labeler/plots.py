"""The plots of a labeler's report; each says in words what it shows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jobs.plot_svg import BLUE, INK, ORANGE, VIOLET, new_axes, to_svg
from mis_scoring.evaluation.curves import OperatingPoints, operating_points
from mis_scoring.evaluation.judgement import ScoredPairs

_N_POINTS = 400
_N_HISTOGRAM_BINS = 60
_FEW_PAIRS = 20  # a bin with fewer says little


def precision_recall_plot(pairs: ScoredPairs, margin: float, similarity: float) -> str:
    """Draw precision over recall for the labeler and the cosine, the chosen cuts marked."""
    axes = new_axes("recall", "precision")
    told = []
    series = (
        ("labeler", pairs.margins, margin, BLUE, "-"),
        ("cosine", pairs.similarities, similarity, ORANGE, "--"),
    )
    for name, scores, cut, colour, line in series:
        points = operating_points(scores, pairs.answers)
        drawn, at = points.thinned(_N_POINTS), _at(points, cut)
        axes.plot(drawn.recall, drawn.precision, color=colour, linestyle=line, label=name)
        axes.plot([points.recall[at]], [points.precision[at]], "o", color=colour)
        told.append(f"{name} at its cut: precision {points.precision[at]:.3f}, recall {points.recall[at]:.3f}")
    axes.axhline(float(pairs.answers.mean()), color=INK, linestyle=":", linewidth=0.8, label="share supported")
    axes.set(xlim=(0.0, 1.02), ylim=(0.0, 1.02))
    return to_svg(axes, "pr", f"Precision over recall on the test members. {'; '.join(told)}.")


def threshold_plot(pairs: ScoredPairs, margin: float) -> str:
    """Draw precision, recall and F1 over the cut, in margins, the chosen cut marked."""
    points = operating_points(pairs.margins, pairs.answers)
    drawn = points.thinned(_N_POINTS)
    axes = new_axes("threshold, as a margin z(YES) - z(NO)", "precision, recall, F1")
    axes.plot(drawn.cuts, drawn.precision, color=BLUE, label="precision")
    axes.plot(drawn.cuts, drawn.recall, color=ORANGE, linestyle="--", label="recall")
    axes.plot(drawn.cuts, drawn.f1, color=VIOLET, linestyle="-.", label="F1")
    axes.axvline(margin, color=INK, linestyle=":", label="chosen")
    axes.set(ylim=(0.0, 1.02))
    at = _at(points, margin)
    told = f"precision {points.precision[at]:.3f}, recall {points.recall[at]:.3f}, F1 {points.f1[at]:.3f}"
    return to_svg(
        axes, "cut", f"Precision, recall and F1 over the threshold. At the chosen margin {margin:.2f}: {told}."
    )


def reliability_plot(bins: Sequence[dict[str, Any]], ece: float) -> str:
    """Draw the share supported over the mean score of each bin that has pairs; bins of few pairs are hollow."""
    filled = [part for part in bins if part["n_pairs"]]
    axes = new_axes("mean score of a bin", "share supported")
    axes.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=0.8, label="calibrated")
    for name, is_few, inside in ((f"{_FEW_PAIRS} pairs or more", False, BLUE), ("fewer", True, "none")):
        chosen = [part for part in filled if (part["n_pairs"] < _FEW_PAIRS) == is_few]
        scores, shares = [[part[name] for part in chosen] for name in ("mean_score", "supported_share")]
        axes.plot(scores, shares, "o", color=BLUE, markerfacecolor=inside, label=name)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    n_few = sum(part["n_pairs"] < _FEW_PAIRS for part in filled)
    told = f"{len(filled)} bins with pairs, {n_few} of them with fewer than {_FEW_PAIRS}"
    return to_svg(axes, "calibration", f"Share supported over mean score: {told}. ECE {ece:.4f}.")


def margins_plot(pairs: ScoredPairs, margin: float) -> str:
    """Draw how many pairs have which margin, supported and unsupported apart, on a logarithmic axis."""
    edges = np.linspace(pairs.margins.min() - 1e-6, pairs.margins.max() + 1e-6, _N_HISTOGRAM_BINS + 1)
    axes = new_axes("margin z(YES) - z(NO)", "pairs (log)")
    for name, wanted, colour, line in (("unsupported", False, ORANGE, "--"), ("supported", True, BLUE, "-")):
        counts, _ = np.histogram(pairs.margins[pairs.answers == wanted], edges)
        axes.stairs(counts, edges, color=colour, linestyle=line, label=name)
    axes.set_yscale("symlog", linthresh=1.0)
    axes.axvline(margin, color=INK, linestyle=":", label="chosen threshold")
    told = f"{int(pairs.answers.sum())} supported and {int((~pairs.answers).sum())} unsupported pairs"
    return to_svg(axes, "margins", f"Number of pairs by margin: {told}; threshold at {margin:.2f}.")


def _at(points: OperatingPoints, cut: float) -> int:
    """Return the place of the last point that a cut accepts; the first one where it accepts nothing."""
    return max(int((points.cuts >= cut).sum()) - 1, 0)
