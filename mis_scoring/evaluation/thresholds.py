"""Choose the cut on validation pairs, placed midway to the next pair below it: best F1, or a floor of precision."""

import numpy as np
import numpy.typing as npt

from mis_scoring.core.errors import DataError


def best_margin(margins: npt.NDArray[np.floating], answers: npt.NDArray[np.bool_]) -> float:
    """Return the margin at and above which accepting gives the best F1.

    The highest such cut when several are equally good. Pairs of equal margin are never parted.

    Args:
        margins: (n,), finite; also any other score, such as a cosine.
        answers: (n,), at least one true.
    """
    _require_usable(margins, answers)
    ordered, right = _best_first(margins, answers)
    true_yes = np.cumsum(right)
    f1 = 2 * true_yes / (np.arange(1, len(right) + 1) + right.sum())
    f1[:-1][ordered[:-1] == ordered[1:]] = -1.0
    return _midway_below(ordered, int(np.argmax(f1)))


def margin_of_precision(margins: npt.NDArray[np.floating], answers: npt.NDArray[np.bool_], *, floor: float) -> float:
    """Return the lowest cut whose precision is at least `floor`: the most recall that the floor allows.

    Precision does not only rise with the cut, so a lower cut may fail and a still lower one hold; the lowest counts.

    Args:
        margins, answers: as for `best_margin`.
    Raises:
        DataError: no cut holds the floor; says the best precision and where.
    """
    _require_usable(margins, answers)
    ordered, right = _best_first(margins, answers)
    true_yes = np.cumsum(right)
    precision = true_yes / np.arange(1, len(right) + 1)
    precision[:-1][ordered[:-1] == ordered[1:]] = -1.0
    holds = np.flatnonzero(precision >= floor)
    if not holds.size:
        best = int(np.argmax(precision))
        raise DataError(
            f"no threshold has a precision of {floor} on {len(right)} validation pairs: the best is "
            f"{precision[best]:.4f}, with a recall of {true_yes[best] / right.sum():.4f}. Lower the floor, or train "
            "longer."
        )
    return _midway_below(ordered, int(holds[-1]))


def threshold_of_margin(margin: float) -> float:
    """Return the score threshold that a margin stands for: its sigmoid."""
    return float(1.0 / (1.0 + np.exp(-margin)))


def _require_usable(margins: npt.NDArray[np.floating], answers: npt.NDArray[np.bool_]) -> None:
    if not answers.any() or not np.isfinite(margins).all():
        raise ValueError("want finite margins and at least one supported pair")


def _best_first(
    margins: npt.NDArray[np.floating], answers: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    order = np.argsort(-margins, kind="stable")
    return np.asarray(margins, np.float64)[order], answers[order]


def _midway_below(ordered: npt.NDArray[np.float64], cut: int) -> float:
    below = ordered[cut + 1] if cut + 1 < len(ordered) else ordered[cut] - 2.0
    return float((ordered[cut] + below) / 2)
