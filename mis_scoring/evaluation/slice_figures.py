"""All figures of one slice at a chosen cut: those of `judge`, and what a person asks next."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from mis_scoring.core.readout import FloatArray, scores_of_margins
from mis_scoring.evaluation.balanced import balanced_agreement
from mis_scoring.evaluation.calibration import N_BINS, expected_calibration_error, reliability_bins
from mis_scoring.evaluation.curves import operating_points
from mis_scoring.evaluation.judgement import Cuts, ScoredPairs, judge_slice, scored_pairs
from mis_scoring.evaluation.members import EvaluationMember
from mis_scoring.evaluation.metrics import Agreement


def slice_figures(members: Sequence[EvaluationMember], margins: Sequence[FloatArray], cuts: Cuts) -> dict[str, Any]:
    """Return the figures of a slice; a ratio of nothing is NaN (see `without_nan`)."""
    return judge_slice(members, margins, cuts) | pair_figures(scored_pairs(members, margins), cuts.margin)


def pair_figures(pairs: ScoredPairs, cut: float) -> dict[str, Any]:
    """Return counts of errors, balanced agreement, calibration and average precision."""
    accepted = pairs.margins >= cut
    bins = reliability_bins(scores_of_margins(pairs.margins.astype(np.float32)), pairs.answers)
    return {
        "counts": asdict(Agreement.of(accepted, pairs.answers)),
        "balanced": asdict(balanced_agreement(accepted, pairs.answers)),
        "calibration": {
            "ece": expected_calibration_error(bins),
            "n_bins": N_BINS,
            "bins": [asdict(found) for found in bins],
        },
        "average_precision": _average_precision(pairs.margins, pairs),
        "cosine_average_precision": _average_precision(pairs.similarities, pairs),
    }


def leading_figures(slices: dict[str, Any], apart: Sequence[str]) -> dict[str, Any]:
    """Put the test slice first, as plain numbers that a registry can log, with the F1 of the slices named."""
    test = slices["test"]
    leading = {name: test["labeler"][name] for name in ("precision", "recall", "f1", "share_no", "n_pairs")}
    leading |= {"recall_at_k": test["recall_at_k"], "cosine_f1": test["cosine"]["f1"]}
    return leading | {f"{name}_f1": slices[name]["labeler"]["f1"] for name in apart}


def without_nan(value: Any) -> Any:
    """Return the value with null for every NaN: a ratio of nothing has no number in JSON."""
    if isinstance(value, dict):
        return {key: without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _average_precision(scores: npt.NDArray[np.floating], pairs: ScoredPairs) -> float:
    return operating_points(scores, pairs.answers).average_precision if pairs.answers.any() else float("nan")
