"""Figures of a labeler: counted right, cut on validation, unknown pairs left out."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.evaluation.judgement import Cuts, judge, judge_slice, scored_pairs
from mis_scoring.evaluation.members import (
    EvaluationCandidate,
    EvaluationMember,
    read_members,
    recall_at_k,
    write_members,
)
from mis_scoring.evaluation.metrics import Agreement
from mis_scoring.evaluation.thresholds import best_margin, threshold_of_margin

pairs = st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=40).filter(
    lambda rows: any(answer for _, answer in rows)
)


def candidate(name: str, answer: str, *, similarity: float = 0.5, category: str = "skill") -> EvaluationCandidate:
    return EvaluationCandidate(
        qualification_id=name, category=category, text=name, similarity=similarity, answer=answer
    )


def member(*candidates: EvaluationCandidate, supported: tuple[str, ...] = ()) -> EvaluationMember:
    return EvaluationMember(member_id="m", profile_text="Ä profile", candidates=candidates, supported=supported)


def f1_at(margins: np.ndarray, answers: np.ndarray, cut: float) -> float:
    return Agreement.of(margins >= cut, answers).f1


@given(rows=pairs)
def test_no_cut_has_a_better_f1_than_the_chosen_one(rows: list[tuple[int, bool]]) -> None:
    margins = np.array([m for m, _ in rows], np.float64)
    answers = np.array([a for _, a in rows], np.bool_)
    chosen = f1_at(margins, answers, best_margin(margins, answers))
    assert chosen == pytest.approx(max(f1_at(margins, answers, float(m)) for m in margins))


def test_the_cut_lies_between_the_pairs_that_it_parts() -> None:
    assert best_margin(np.array([3.0, 1.0, -2.0]), np.array([True, True, False])) == pytest.approx(-0.5)


def test_a_cut_without_a_supported_pair_or_with_a_missing_score_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one supported"):
        best_margin(np.array([1.0]), np.array([False]))
    with pytest.raises(ValueError, match="finite"):
        best_margin(np.array([1.0, np.nan]), np.array([True, False]))


def test_the_threshold_is_the_sigmoid_of_the_margin() -> None:
    assert threshold_of_margin(0.0) == 0.5
    assert threshold_of_margin(math.log(3)) == pytest.approx(0.75)


def test_counts_and_ratios() -> None:
    agreement = Agreement.of(np.array([True, True, False, False]), np.array([True, False, True, False]))
    assert (agreement.precision, agreement.recall, agreement.f1, agreement.share_no) == (0.5, 0.5, 0.5, 0.5)


def test_a_ratio_of_nothing_is_nan_and_never_a_number() -> None:
    nothing = Agreement.of(np.zeros(2, np.bool_), np.zeros(2, np.bool_))
    assert math.isnan(nothing.precision)
    assert math.isnan(nothing.recall)


def test_unknown_pairs_are_left_out_and_counted() -> None:
    m = member(candidate("a", "supported"), candidate("b", "unknown"), candidate("c", "unsupported"))
    found = scored_pairs([m], [np.array([1.0, 9.0, -1.0])])
    assert found.margins.tolist() == [1.0, -1.0]
    assert found.answers.tolist() == [True, False]
    assert found.n_unknown == 1


def test_margins_that_do_not_match_the_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="1 margins for 2 candidates"):
        scored_pairs([member(candidate("a", "supported"), candidate("b", "unsupported"))], [np.array([1.0])])


def test_a_judgement_shows_categories_and_both_baselines() -> None:
    m = member(
        candidate("a", "supported", similarity=0.9),
        candidate("b", "supported", similarity=0.1, category="licence"),
        candidate("c", "unsupported", similarity=0.8),
        candidate("d", "unsupported", similarity=0.2),
    )
    found = scored_pairs([m], [np.array([2.0, 1.0, -1.0, -2.0])])
    figures = judge(found, Cuts.choose(found))
    assert figures["labeler"]["f1"] == 1.0  # type: ignore[index]
    assert figures["by_category"]["licence"]["n_pairs"] == 1  # type: ignore[index]
    assert figures["always_no"]["accuracy"] == 0.5  # type: ignore[index]
    assert figures["cosine"]["f1"] < 1.0  # type: ignore[index]


def test_recall_at_k_counts_supported_entries_that_were_not_retrieved() -> None:
    m = member(candidate("a", "supported"), supported=("a", "not-retrieved"))
    assert recall_at_k([m]) == 0.5
    assert judge_slice([m], [np.array([1.0])], Cuts(margin=0.0, similarity=0.0))["recall_at_k"] == 0.5


def test_members_survive_the_file(tmp_path: Path) -> None:
    members = [member(candidate("a", "unknown"), supported=("a",)), member(candidate("b", "supported"))]
    write_members(tmp_path / "m.jsonl.gz", members)
    again = read_members(tmp_path / "m.jsonl.gz")
    assert [list(m.candidates) for m in again] == [list(m.candidates) for m in members]
    assert [m.profile_text for m in again] == ["Ä profile"] * 2


def test_an_answer_outside_the_three_is_refused() -> None:
    with pytest.raises(ValueError, match="want one of"):
        candidate("a", "maybe")
