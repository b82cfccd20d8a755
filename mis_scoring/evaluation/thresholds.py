"""Choose the cut on validation pairs: the margin with the best F1, placed midway to the next pair below it."""

import numpy as np
import numpy.typing as npt


def best_margin(margins: npt.NDArray[np.floating], answers: npt.NDArray[np.bool_]) -> float:
    """Return the margin at and above which accepting gives the best F1.

    The highest such cut when several are equally good. Pairs of equal margin are never parted.

    Args:
        margins: (n,), finite; also any other score, such as a cosine.
        answers: (n,), at least one true.
    """
    if not answers.any() or not np.isfinite(margins).all():
        raise ValueError("want finite margins and at least one supported pair")
    order = np.argsort(-margins, kind="stable")
    ordered, right = np.asarray(margins, np.float64)[order], answers[order]
    true_yes = np.cumsum(right)
    f1 = 2 * true_yes / (np.arange(1, len(right) + 1) + right.sum())
    f1[:-1][ordered[:-1] == ordered[1:]] = -1.0
    cut = int(np.argmax(f1))
    below = ordered[cut + 1] if cut + 1 < len(ordered) else ordered[cut] - 2.0
    return float((ordered[cut] + below) / 2)


def threshold_of_margin(margin: float) -> float:
    """Return the score threshold that a margin stands for: its sigmoid."""
    return float(1.0 / (1.0 + np.exp(-margin)))
