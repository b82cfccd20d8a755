"""From logits to scores, decisions and the tie band."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError, MissingScoreError
from mis_scoring.core.readout import binary_scores, decisions, margin_of, margins, scores_of_margins
from mis_scoring.core.tie import in_tie_band

LOGITS = st.floats(-50, 50, width=32)
PAIRS = st.lists(st.tuples(LOGITS, LOGITS), min_size=1, max_size=8)
THRESHOLDS = st.floats(0.001, 0.999)
MARGINS = st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=8)


def array(rows: object) -> np.ndarray:
    return np.asarray(rows, np.float32)


@given(pairs=PAIRS)
def test_a_score_is_the_share_of_yes_as_equation_2_has_it(pairs: list[tuple[float, float]]) -> None:
    for score, (yes, no) in zip(binary_scores(array(pairs)), pairs, strict=True):
        assert score == pytest.approx(math.exp(yes) / (math.exp(yes) + math.exp(no)), rel=1e-4, abs=1e-30)


@given(pairs=PAIRS, shift=st.integers(-20, 20))
def test_a_shift_of_both_logits_changes_no_score(pairs: list[tuple[float, float]], shift: int) -> None:
    logits = array(pairs).round()
    assert np.array_equal(binary_scores(logits), binary_scores(logits + np.float32(shift)))


@given(pairs=PAIRS)
def test_swapped_answers_give_the_complement(pairs: list[tuple[float, float]]) -> None:
    logits = array(pairs)
    assert binary_scores(logits) + binary_scores(logits[:, ::-1]) == pytest.approx(np.ones(len(pairs)))


@given(found=MARGINS)
def test_scores_rise_with_margins(found: list[float]) -> None:
    ordered = scores_of_margins(np.sort(array(found)))
    assert (np.diff(ordered) >= 0).all()


def test_extreme_margins_stay_inside_the_unit_interval_without_a_warning() -> None:
    with np.errstate(all="raise", under="ignore"):
        assert scores_of_margins(array([-3e38, -800.0, 0.0, 800.0, 3e38])).tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]


@given(threshold=THRESHOLDS)
def test_the_margin_of_a_threshold_scores_the_threshold(threshold: float) -> None:
    margin = margin_of(threshold)
    assert 1 / (1 + math.exp(-margin)) == pytest.approx(threshold)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.5, 2.0, float("nan")])
def test_a_threshold_outside_the_open_unit_interval_is_refused(threshold: float) -> None:
    with pytest.raises(DataError, match="threshold"):
        margin_of(threshold)


def test_a_tie_accepts() -> None:
    assert decisions(array([0.0, np.nextafter(np.float32(0), np.float32(-1))]), 0.5).tolist() == [True, False]


@given(found=MARGINS, threshold=THRESHOLDS)
def test_decisions_compare_scores_with_the_threshold(found: list[float], threshold: float) -> None:
    for margin, accepted in zip(array(found), decisions(array(found), threshold), strict=True):
        score = scores_of_margins(array([margin]))[0]
        if abs(score - threshold) > 1e-9:
            assert accepted == (score >= threshold)


@pytest.mark.parametrize("missing", [np.nan, np.inf, -np.inf])
def test_a_missing_score_is_an_error_that_names_its_rows(missing: float) -> None:
    logits = array([[1, 2], [missing, 0], [0, 0], [0, missing]])
    with pytest.raises(MissingScoreError) as caught:
        margins(logits)
    assert caught.value.item_rows == [1, 3]


@given(found=MARGINS, threshold=THRESHOLDS, tie_eps=st.floats(1e-6, 2.0))
def test_the_tie_band_holds_every_margin_that_eps_could_carry_across(
    found: list[float], threshold: float, tie_eps: float
) -> None:
    scores = array(found)
    in_band = in_tie_band(scores, threshold=threshold, tie_eps=tie_eps)
    moved = [np.asarray(scores, np.float64) + by * tie_eps * (1 - 1e-6) for by in (-1, 1)]
    could_flip = np.not_equal(*(decisions(m, threshold) for m in moved))
    assert (in_band | ~could_flip).all()
    assert (np.abs(scores[in_band].astype(np.float64) - margin_of(threshold)) <= tie_eps).all()


def test_a_bit_exact_engine_has_no_tie_band() -> None:
    assert not in_tie_band(array([0.0, 0.0]), threshold=0.5, tie_eps=0.0).any()
