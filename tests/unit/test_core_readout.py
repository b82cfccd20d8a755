"""Margins, scores and decisions of equation 2."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError, MissingScoreError
from mis_scoring.core.readout import binary_scores, decisions, margin_of, margins, scores_of_margins

logits = st.floats(-50, 50, width=32)
pairs = st.lists(st.tuples(logits, logits), min_size=1, max_size=20)
thresholds = st.floats(1e-6, 1 - 1e-6)


def _rows(values: list[tuple[float, float]]) -> np.ndarray:
    return np.asarray(values, np.float32)


@given(values=pairs)
def test_a_score_is_yes_over_yes_and_no(values: list[tuple[float, float]]) -> None:
    expected = [math.exp(y) / (math.exp(y) + math.exp(n)) for y, n in values]
    assert np.allclose(binary_scores(_rows(values)), expected, rtol=1e-5, atol=1e-9)


@given(values=pairs, shift=st.integers(-16, 16))
def test_a_shift_of_both_logits_changes_no_score(values: list[tuple[float, float]], shift: int) -> None:
    moved = _rows(values).astype(np.float64) + shift
    assert np.allclose(binary_scores(moved.astype(np.float32)), binary_scores(_rows(values)), atol=1e-5)


@given(values=pairs)
def test_swapping_yes_and_no_gives_the_complement(values: list[tuple[float, float]]) -> None:
    scores = binary_scores(_rows(values))
    assert np.allclose(binary_scores(_rows(values)[:, ::-1]) + scores, 1.0)


@given(values=pairs, seed=st.integers(0, 2**16))
def test_scores_are_aligned_with_their_items(values: list[tuple[float, float]], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(values))
    assert np.array_equal(binary_scores(_rows(values)[order]), binary_scores(_rows(values))[order])


@pytest.mark.parametrize(("margin", "score"), [(1e30, 1.0), (-1e30, 0.0), (0.0, 0.5)])
def test_far_margins_do_not_overflow(margin: float, score: float) -> None:
    with np.errstate(over="raise", invalid="raise"):
        assert scores_of_margins(np.asarray([margin], np.float32))[0] == pytest.approx(score, abs=1e-300)


@pytest.mark.parametrize("missing", [math.nan, math.inf, -math.inf])
def test_a_missing_score_is_an_error_that_names_its_rows(missing: float) -> None:
    with pytest.raises(MissingScoreError) as caught:
        margins(_rows([(1, 0), (missing, 0), (0, 1), (0, missing)]))
    assert caught.value.item_rows == [1, 3]


def test_margins_are_float32_and_no_item_gives_no_margin() -> None:
    assert margins(_rows([(1, 0)])).dtype == np.float32
    assert margins(np.zeros((0, 2), np.float32)).shape == (0,)


@given(threshold=thresholds)
def test_the_margin_of_a_threshold_scores_the_threshold(threshold: float) -> None:
    assert 1 / (1 + math.exp(-margin_of(threshold))) == pytest.approx(threshold, rel=1e-9)


@given(values=st.lists(logits, min_size=1, max_size=20), threshold=thresholds)
def test_a_decision_is_the_score_against_the_threshold(values: list[float], threshold: float) -> None:
    margin = np.asarray(values, np.float32)
    clear = np.abs(margin.astype(np.float64) - margin_of(threshold)) > 1e-9
    expected = scores_of_margins(margin) >= threshold
    assert np.array_equal(decisions(margin, threshold)[clear], expected[clear])


def test_a_tie_accepts() -> None:
    assert decisions(np.zeros(1, np.float32), 0.5).tolist() == [True]
    below = np.nextafter(np.float32(0), np.float32(-1))
    assert decisions(np.asarray([below], np.float32), 0.5).tolist() == [False]


@given(values=st.lists(logits, min_size=1, max_size=20), low=thresholds, high=thresholds)
def test_a_higher_threshold_accepts_no_more(values: list[float], low: float, high: float) -> None:
    margin = np.asarray(values, np.float32)
    low, high = min(low, high), max(low, high)
    assert not (decisions(margin, high) & ~decisions(margin, low)).any()


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_a_threshold_outside_0_and_1_is_refused(threshold: float) -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        margin_of(threshold)
