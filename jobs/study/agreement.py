"""Agreement with the reference: "the percentage of predicted qualification labels that match the reference labels".

Source: arXiv 2610.36383, section 6.2. A label that was not given matches nothing, and is never NO: it is a miss where
the pair is supported and is counted apart.
"""

import numpy as np
import numpy.typing as npt

from mis_scoring.evaluation.metrics import Agreement

Decisions = npt.NDArray[np.int8]
YES, NO, NO_ANSWER = 1, 0, -1


def agreement(
    decisions: Decisions, answers: npt.NDArray[np.bool_], is_known: npt.NDArray[np.bool_]
) -> dict[str, float]:
    """Return agreement, precision, recall and F1 over the known pairs, all (n,)."""
    given, right = decisions[is_known], answers[is_known]
    counts = Agreement.of(given == YES, right)
    return {
        "agreement": round(float((given == right).mean()), 5),
        "precision": round(counts.precision, 5),
        "recall": round(counts.recall, 5),
        "f1": round(counts.f1, 5),
        "share_yes": round(float(right.mean()), 5),
        "n_pairs": int(right.size),
        "n_no_answer": int((given == NO_ANSWER).sum()),
    }
