"""The gate's figures of a numeric profile: what it cost against the same model in another one, and what it gave.

Flips, F1 and calibration have limits, whole and by category; the margins' error is reported, since a margin far from
the cut may move far and change nothing. A quantised profile that is compared with nothing does not pass.
"""

import math
from collections.abc import Iterator

from jobs.labeler.gate_result import REPORTED, GateFigure, GateLimits
from jobs.labeler.numeric_profile import QUANTISED, exactness, profile_words
from jobs.labeler.profile_change import NotCompared, ProfileChange
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.evaluation.margin_change import MarginChange

_COMPARED = "profile, compared with"


def profile_figures(
    found: ProfileChange | NotCompared, artifact: LabelerArtifact, limits: GateLimits
) -> list[GateFigure]:
    """Return what the profile changed, each figure with its limit; none has one where the other is less exact."""
    if isinstance(found, NotCompared):
        return [_not_compared(found, artifact)]
    return [
        GateFigure.measured(_COMPARED, f"version {found.version}, {found.profile}"),
        *_whole(found, limits),
        *_by_category(found, limits),
        GateFigure.measured("profile, margin error, largest", found.whole.largest_error),
        GateFigure.measured("profile, margin error, 99th percentile", found.whole.p99_error),
        *_gained_and_lost(found),
    ]


def _not_compared(found: NotCompared, artifact: LabelerArtifact) -> GateFigure:
    if exactness(artifact.numeric_profile) != QUANTISED:
        return GateFigure.measured(_COMPARED, found.reason)
    note = (
        f"{found.reason}. {profile_words(artifact.numeric_profile)} is allowed only as measured against the same model "
        "without it: evaluate both on the same members and register both"
    )
    return GateFigure(name=_COMPARED, value=None, limit="the same model, more exact", holds=False, note=note)


def _whole(found: ProfileChange, limits: GateLimits) -> Iterator[GateFigure]:
    flipped, lost, rise = limits.profile_flipped_share, limits.profile_f1_loss, limits.profile_calibration_rise
    whole, note = found.whole, f"{found.whole.n_flips} of {found.whole.flips.n_pairs} pairs"
    yield GateFigure.at_most("profile, flips", whole.flips.flipped_share, _limit(found, flipped), note=note)
    yield GateFigure.at_most("profile, F1 lost", whole.f1_loss, _limit(found, lost))
    yield GateFigure.at_most("profile, calibration error, rise", whole.calibration_rise, _limit(found, rise))


def _by_category(found: ProfileChange, limits: GateLimits) -> Iterator[GateFigure]:
    if found.by_category is None:
        if not found.is_more_exact:
            yield GateFigure.unmeasured("profile, flips and F1 by category", "each category's limits")
        return
    for name, change in found.by_category.items():
        note = f"{change.n_flips} of {change.flips.n_pairs} pairs"
        share, loss = change.flips.flipped_share, change.f1_loss
        flipped = _limit(found, _of_category(limits.profile_category_flipped_share, change))
        lost = _limit(found, _of_category(limits.profile_category_f1_loss, change))
        yield GateFigure.at_most(f"profile, flips, {name}", share, flipped, note=note)
        if math.isnan(loss):
            yield GateFigure.measured(f"profile, F1 lost, {name}", "no F1: a ratio of nothing")
        else:
            yield GateFigure.at_most(f"profile, F1 lost, {name}", loss, lost, note=note)


def _limit(found: ProfileChange, limit: float | None) -> float | None:
    return None if found.is_more_exact else limit


def _of_category(limit: float, change: MarginChange) -> float | None:
    """One pair that is decided otherwise says nothing of a category, however few pairs it has."""
    return None if change.n_flips <= 1 else limit


def _gained_and_lost(found: ProfileChange) -> Iterator[GateFigure]:
    whole = found.whole
    yield GateFigure.measured(
        "profile, gained and lost", f"{whole.n_became_right:,} pairs became right, {whole.n_became_wrong:,} wrong"
    )
    if found.pairs_per_s is not None:
        (before, engine_before), (after, engine_after) = found.pairs_per_s
        rates = f"{after:,.0f} ({engine_after}), before {before:,.0f} ({engine_before})"
        yield GateFigure(name="profile, labels/s of the evaluations", value=rates, limit=REPORTED, holds=True)
