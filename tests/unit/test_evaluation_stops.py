"""Stop reasons under a round rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.rounds import RoundRule
from mis_scoring.evaluation.stops import stop_of, stop_summary

RULE = RoundRule(candidates_per_round=2, stop_below=0.5)


def decisions(text: str) -> np.ndarray:
    return np.array([letter == "y" for letter in text])


@pytest.mark.parametrize(
    ("text", "reason", "n_rounds"),
    [
        ("nnyyyy", "accepted_too_little", 1),
        ("ynnnyy", "accepted_too_little", 2),
        ("ynynnn", "accepted_too_little", 3),
        ("ynynyn", "candidates_exhausted", 3),
        ("yny", "candidates_exhausted", 2),
    ],
)
def test_a_member_stops_where_a_round_accepts_too_little(text: str, reason: str, n_rounds: int) -> None:
    assert stop_of(decisions(text), RULE) == (reason, n_rounds)


def test_a_summary_counts_reasons_rounds_and_what_was_lost() -> None:
    found = stop_summary([decisions("nnyy"), decisions("ynyn")], RULE)
    assert found == {
        "accepted_lost": 0.5,
        "accepted_too_little": 0.5,
        "candidates_exhausted": 0.5,
        "mean_rounds": 1.5,
    }


@given(rows=st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=20))
def test_a_rule_that_never_stops_loses_nothing(rows: list[list[bool]]) -> None:
    found = stop_summary([np.array(row) for row in rows], RoundRule(candidates_per_round=2, stop_below=0.0))
    assert found["candidates_exhausted"] == 1.0
    assert found["accepted_lost"] == 0.0
    assert found["mean_rounds"] == 2.0
