"""Curves, calibration, balanced agreement, flips, ties, borderline pairs: right by hand, right for any pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError
from mis_scoring.evaluation.balanced import balanced_agreement
from mis_scoring.evaluation.borderline import borderline_pairs
from mis_scoring.evaluation.calibration import expected_calibration_error, reliability_bins
from mis_scoring.evaluation.curves import operating_points
from mis_scoring.evaluation.flips import FlipMatrix
from mis_scoring.evaluation.label_cost import LabelCost
from mis_scoring.evaluation.metrics import Agreement
from mis_scoring.evaluation.non_english import WRAPPERS, in_other_languages
from mis_scoring.evaluation.slice_figures import without_nan
from mis_scoring.evaluation.targets import Target
from mis_scoring.evaluation.thresholds import margin_of_precision
from mis_scoring.evaluation.tie_band import TieBand, rounded_up
from tests.labeler_work import made_up_members

pairs = st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=40).filter(
    lambda rows: any(answer for _, answer in rows)
)
floors = st.sampled_from([0.0, 0.3, 0.5, 0.75, 0.9, 1.0])


def arrays(rows: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([m for m, _ in rows], np.float64), np.array([a for _, a in rows], np.bool_)


@given(rows=pairs, floor=floors)
def test_the_cut_of_a_floor_is_the_lowest_that_holds_it_and_an_error_when_none_does(
    rows: list[tuple[int, bool]], floor: float
) -> None:
    margins, answers = arrays(rows)
    holding = [float(m) for m in margins if Agreement.of(margins >= m, answers).precision >= floor]
    if not holding:
        with pytest.raises(DataError, match="the best is"):
            margin_of_precision(margins, answers, floor=floor)
        return
    cut = margin_of_precision(margins, answers, floor=floor)
    assert Agreement.of(margins >= cut, answers).precision >= floor
    assert ((margins >= cut) == (margins >= min(holding))).all()


def test_a_floor_may_be_held_below_a_cut_that_breaks_it() -> None:
    margins = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    answers = np.array([True, False, True, True, False])
    assert margin_of_precision(margins, answers, floor=0.75) == pytest.approx(0.5)


def test_the_error_of_a_floor_says_the_best_precision_there_is() -> None:
    with pytest.raises(DataError, match=r"precision of 0\.98 on 2 validation pairs: the best is 0\.5000"):
        margin_of_precision(np.array([2.0, 1.0]), np.array([False, True]), floor=0.98)


@pytest.mark.parametrize(("text", "floor"), [("best_f1", None), ("precision>=0.98", 0.98), (" precision >= .5 ", 0.5)])
def test_a_target_is_read(text: str, floor: float | None) -> None:
    assert Target.parse(text).precision_floor == floor
    assert Target.parse(str(Target.parse(text))) == Target.parse(text)


@pytest.mark.parametrize("text", ["", "f1", "precision>=98", "precision>=-1", "recall>=0.9", "precision>0.9"])
def test_a_target_of_no_meaning_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="write best_f1 or precision"):
        Target.parse(text)


@given(rows=pairs)
def test_every_point_of_the_curve_is_the_agreement_at_its_cut(rows: list[tuple[int, bool]]) -> None:
    margins, answers = arrays(rows)
    points = operating_points(margins, answers)
    assert points.cuts.tolist() == sorted(set(margins.tolist()), reverse=True)
    for cut, precision, recall, f1 in zip(points.cuts, points.precision, points.recall, points.f1, strict=True):
        at = Agreement.of(margins >= cut, answers)
        assert (precision, recall, f1) == pytest.approx((at.precision, at.recall, at.f1))


def test_average_precision_by_hand() -> None:
    points = operating_points(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]))
    assert points.average_precision == pytest.approx(0.5 * 1.0 + 0.5 * 2 / 3)


@given(rows=pairs, n_points=st.integers(2, 6))
def test_thinning_keeps_both_ends(rows: list[tuple[int, bool]], n_points: int) -> None:
    points = operating_points(*arrays(rows))
    few = points.thinned(n_points)
    assert len(few.cuts) == min(n_points, len(points.cuts))
    assert (few.cuts[0], few.cuts[-1]) == (points.cuts[0], points.cuts[-1])


def test_calibration_error_by_hand() -> None:
    scores = np.array([0.1, 0.15, 0.9, 1.0])
    bins = reliability_bins(scores, np.array([False, True, True, True]), n_bins=2)
    assert [(b.low, b.high, b.n_pairs) for b in bins] == [(0.0, 0.5, 2), (0.5, 1.0, 2)]
    assert (bins[0].mean_score, bins[0].supported_share) == pytest.approx((0.125, 0.5))
    assert expected_calibration_error(bins) == pytest.approx((2 * 0.375 + 2 * 0.05) / 4)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50))
def test_every_pair_is_in_one_bin(rows: list[tuple[float, bool]]) -> None:
    scores, answers = np.array([s for s, _ in rows]), np.array([a for _, a in rows], np.bool_)
    bins = reliability_bins(scores, answers)
    assert sum(found.n_pairs for found in bins) == len(rows)
    assert sum(found.n_pairs * found.supported_share for found in bins if found.n_pairs) == pytest.approx(answers.sum())


def test_a_bin_of_no_pair_has_no_share_and_a_score_outside_is_refused() -> None:
    assert math.isnan(reliability_bins(np.array([0.9]), np.array([True]), n_bins=2)[0].supported_share)
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        reliability_bins(np.array([1.5]), np.array([True]))


def test_balanced_agreement_by_hand() -> None:
    answers = np.array([True] * 2 + [False] * 8)
    accepted = np.array([True, False] + [False] * 6 + [True] * 2)
    found = balanced_agreement(accepted, answers)
    assert found.n_pairs == 4
    assert found.expected == pytest.approx((0.5 + 0.75) / 2)
    draws = [balanced_agreement(accepted, answers, seed=seed).drawn for seed in range(400)]
    assert set(draws) <= {0.25, 0.5, 0.75}
    assert np.mean(draws) == pytest.approx(found.expected, abs=0.02)
    assert balanced_agreement(accepted, answers) == found


def test_always_no_gets_half_of_a_balanced_set_and_one_class_has_none() -> None:
    answers = np.array([True] * 3 + [False] * 97)
    assert balanced_agreement(np.zeros(100, np.bool_), answers).drawn == 0.5
    alone = balanced_agreement(np.zeros(3, np.bool_), np.zeros(3, np.bool_))
    assert alone.n_pairs == 0 and math.isnan(alone.drawn)


def test_flips_are_counted_by_direction_and_by_who_is_right() -> None:
    before = np.array([True, True, False, False, True, False])
    after = np.array([True, False, True, False, False, True])
    matrix = FlipMatrix.of(before, after, np.array([1, 0, 1, 0, 1, -1], np.int8))
    assert (matrix.both_yes, matrix.both_no, matrix.yes_to_no, matrix.no_to_yes) == (1, 1, 2, 2)
    assert (matrix.yes_to_no_right, matrix.yes_to_no_wrong) == (1, 1)
    assert (matrix.no_to_yes_right, matrix.no_to_yes_wrong) == (1, 0)
    assert (matrix.n_pairs, matrix.flipped_share) == (6, pytest.approx(4 / 6))


def test_flips_of_other_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="decisions for"):
        FlipMatrix.of(np.zeros(2, np.bool_), np.zeros(2, np.bool_), np.zeros(3, np.int8))


def test_the_tie_band_by_hand() -> None:
    packed, alone = np.array([0.0, 1.0, -0.05, 0.4]), np.array([-0.1, 1.0, -0.05, 0.4])
    band = TieBand.of(packed, alone, threshold=0.5)
    assert (band.max_difference, band.tie_eps) == pytest.approx((0.1, 0.2))
    assert (band.n_in_band, band.n_flips, band.n_accepted) == (2, 1, 3)
    assert band.share == 0.5


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=30))
def test_no_flip_lies_outside_the_stored_band(rows: list[tuple[float, float]]) -> None:
    packed, alone = np.array([p for p, _ in rows]), np.array([a for _, a in rows])
    band = TieBand.of(packed, alone, threshold=0.5)
    flips = (packed >= 0) != (alone >= 0)
    assert (np.abs(packed[flips]) <= rounded_up(band.tie_eps)).all()


@given(st.floats(1e-12, 1e3))
def test_a_bound_is_rounded_up_to_two_digits(value: float) -> None:
    assert value <= rounded_up(value) <= value * 1.1


def test_a_bound_rounds_as_a_person_would_write_it() -> None:
    assert [rounded_up(v) for v in (1.523e-4, 0.5, 0.0)] == [1.6e-4, 0.5, 0.0]


def test_borderline_pairs_are_the_nearest_with_their_own_texts() -> None:
    members = made_up_members(2, seed=3, n_candidates=3)
    found = borderline_pairs(members, [np.array([5.0, 1.1, -4.0]), np.array([0.8, 9.0, -9.0])], 1.0, n_pairs=2)
    assert [(p.member_id, p.qualification_id) for p in found] == [("3-0", "q1"), ("3-1", "q0")]
    assert [p.distance for p in found] == pytest.approx([0.1, -0.2])
    assert found[1].profile_text == members[1].profile_text
    assert found[1].qualification_text == members[1].candidates[0].text


def test_cost_counts_the_query_once_a_request() -> None:
    cost = LabelCost()
    cost.add(100, [5, 7], 0.5)
    cost.add(100, [6], 0.25)
    figures = cost.token_figures()
    assert figures["tokens_per_pair"] == pytest.approx(218 / 3, abs=0.01)
    assert figures["tokens_per_pair_alone"] == pytest.approx(318 / 3, abs=0.01)
    assert (figures["mean_query_tokens"], figures["mean_item_tokens"], figures["longest_prompt_tokens"]) == (
        100,
        6,
        107,
    )
    assert cost.time_figures()["pairs_per_s"] == 4.0


def test_other_languages_change_the_words_around_and_nothing_else() -> None:
    members = made_up_members(4, seed=0)
    found = list(in_other_languages(members))
    assert [m.profile_text.split()[0] for m in found] == ["Lebenslauf.", "Curriculum", "Currículum.", "Lebenslauf."]
    assert all(old.profile_text in new.profile_text for old, new in zip(members, found, strict=True))
    assert [m.candidates for m in found] == [m.candidates for m in members]


def test_fixed_sentences_are_told_in_each_language() -> None:
    for wrapper in WRAPPERS:
        assert len(wrapper.phrases) == len(set(wrapper.phrases.values()))
        assert not set(wrapper.phrases) & set(wrapper.phrases.values())


def test_a_ratio_of_nothing_is_null() -> None:
    assert without_nan({"a": [float("nan"), 1.0], "b": {"c": float("nan")}}) == {"a": [None, 1.0], "b": {"c": None}}
