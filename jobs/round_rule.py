"""The round rule of `mis_scoring.core.rounds`, as columns; a test holds both together.

A member goes on while the accepted fraction of the round's judged pairs is at least `stop_below` (paper, section 2.1).
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from mis_scoring.core.readout import margin_of


def is_accepted(margin: Column, threshold: float) -> Column:
    """Whether a judged pair is accepted: score >= threshold, ties accept; compared as margins, which are exact."""
    return margin >= F.lit(margin_of(threshold))


def reason(judged: Column, accepted: Column, missing: Column, *, stop_below: float, is_last_round: bool) -> Column:
    """Why the round ends where it does: incomplete, accepted_too_little, candidates_exhausted or goes_on."""
    too_little = (judged > 0) & (accepted / F.greatest(judged, F.lit(1)) < stop_below)
    return (
        F.when(missing > 0, "incomplete")
        .when(too_little, "accepted_too_little")
        .otherwise("candidates_exhausted" if is_last_round else "goes_on")
    )
