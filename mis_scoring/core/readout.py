"""From the logits of the answer tokens to margins, scores and decisions (paper, section 3.3)."""

import math

import numpy as np
import numpy.typing as npt

from mis_scoring.core.errors import DataError, MissingScoreError

FloatArray = npt.NDArray[np.float32]
RealArray = npt.NDArray[np.float64]


def margins(label_logits: FloatArray) -> FloatArray:
    """Return z(YES) - z(NO) of each item.

    Args:
        label_logits: (n_items, 2) float32, columns YES, NO.
    Returns:
        (n_items,) float32.
    Raises:
        MissingScoreError: an entry is not finite; `item_rows` says where.
    """
    logits = np.asarray(label_logits, np.float32)
    missing = np.flatnonzero(~np.isfinite(logits).all(axis=1))
    if missing.size:
        raise MissingScoreError(missing.tolist())
    return logits[:, 0] - logits[:, 1]


def binary_scores(label_logits: FloatArray) -> RealArray:
    """Renormalise over the two answer tokens: the probability of YES.

    Returns:
        (n_items,) float64 in [0, 1].
    Raises:
        MissingScoreError: an entry is not finite; `item_rows` says where.
    Source: arXiv 2610.36383, equation 2.
    """
    return scores_of_margins(margins(label_logits))


def scores_of_margins(margin: FloatArray) -> RealArray:
    """Return sigmoid(margin), float64, without overflow: exp(z_yes) / (exp(z_yes) + exp(z_no))."""
    small = np.exp(-np.abs(np.asarray(margin, np.float64)))
    return np.asarray(np.where(np.asarray(margin) >= 0, 1.0 / (1.0 + small), small / (1.0 + small)), np.float64)


def margin_of(threshold: float) -> float:
    """Return logit(threshold), the margin at which a score equals the threshold.

    Raises:
        DataError: the threshold is not strictly between 0 and 1.
    """
    if not 0.0 < threshold < 1.0:
        raise DataError(f"threshold is {threshold!r}; it must lie strictly between 0 and 1")
    return math.log(threshold) - math.log1p(-threshold)


def decisions(margin: FloatArray, threshold: float) -> npt.NDArray[np.bool_]:
    """Return score >= threshold for each item, compared as margins; a tie accepts (paper, section 3.3)."""
    return np.asarray(margin, np.float64) >= margin_of(threshold)
