"""How far members get under a round rule: which share stops for which reason, and what stopping early loses."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mis_scoring.core.rounds import RoundRule

GOES_ON = "goes_on"


def stop_of(accepted: npt.NDArray[np.bool_], rule: RoundRule) -> tuple[str, int]:
    """Return why a member stops and after how many rounds.

    Args:
        accepted: (K,) bool, the decisions on its candidates in rank order, all of them judged.
    """
    n_rounds = rule.n_rounds(len(accepted))
    for number in range(n_rounds):
        part = accepted[number * rule.candidates_per_round : (number + 1) * rule.candidates_per_round]
        reason = rule.outcome(
            judged=len(part), accepted=int(part.sum()), missing=0, is_last_round=number == n_rounds - 1
        )
        if reason != GOES_ON:
            return reason, number + 1
    raise ValueError("a member without candidates has no stop")


def stop_summary(accepted: Sequence[npt.NDArray[np.bool_]], rule: RoundRule) -> dict[str, float]:
    """Return the share of members by reason, the mean number of rounds, and the share of accepted pairs lost.

    Args:
        accepted: one (K,) array a member.
    """
    stops = [stop_of(decisions, rule) for decisions in accepted]
    kept = sum(int(d[: n * rule.candidates_per_round].sum()) for d, (_, n) in zip(accepted, stops, strict=True))
    everything = sum(int(decisions.sum()) for decisions in accepted)
    shares = {reason: n / len(stops) for reason, n in Counter(reason for reason, _ in stops).items()}
    rounds = sum(n for _, n in stops) / len(stops)
    lost = 1.0 - kept / everything if everything else 0.0
    figures = {**shares, "mean_rounds": rounds, "accepted_lost": lost}
    return {name: round(value, 4) for name, value in sorted(figures.items())}
