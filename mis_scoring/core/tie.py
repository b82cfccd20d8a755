"""The tie rule: pairs so close to the threshold that packing could flip them are decided by the reference."""

import numpy as np
import numpy.typing as npt

from mis_scoring.core.readout import FloatArray, margin_of


def in_tie_band(margin: FloatArray, *, threshold: float, tie_eps: float) -> npt.NDArray[np.bool_]:
    """Return which margins lie within `tie_eps` of logit(threshold).

    Args:
        margin: (n,) float32.
        tie_eps: bound of |margin - reference margin|, measured for the engine; 0 for one that is bit-exact.
    """
    if tie_eps == 0.0:
        return np.zeros(len(margin), np.bool_)
    return np.abs(np.asarray(margin, np.float64) - margin_of(threshold)) <= tie_eps
