"""Which pairs the reference decides."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.readout import decisions, margin_of
from mis_scoring.core.tie import in_tie_band

margin_lists = st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=30)


@given(values=margin_lists, threshold=st.floats(0.01, 0.99), eps=st.floats(1e-3, 1), seed=st.integers(0, 2**16))
def test_rounding_within_eps_flips_no_pair_outside_the_band(
    values: list[float], threshold: float, eps: float, seed: int
) -> None:
    margin = np.asarray(values, np.float32)
    rounding = np.random.default_rng(seed).uniform(-0.99 * eps, 0.99 * eps, len(margin))
    moved = (margin + rounding).astype(np.float32)
    is_flipped = decisions(margin, threshold) != decisions(moved, threshold)
    assert not (is_flipped & ~in_tie_band(margin, threshold=threshold, tie_eps=eps)).any()


def test_the_band_lies_around_the_margin_of_the_threshold_and_holds_its_edge() -> None:
    at = margin_of(0.5)
    margin = np.asarray([at - 0.26, at - 0.25, at, at + 0.25, at + 0.26], np.float32)
    assert in_tie_band(margin, threshold=0.5, tie_eps=0.25).tolist() == [False, True, True, True, False]


def test_an_eps_of_zero_turns_the_rule_off() -> None:
    assert not in_tie_band(np.zeros(3, np.float32), threshold=0.5, tie_eps=0.0).any()
