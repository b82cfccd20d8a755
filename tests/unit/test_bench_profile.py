"""What a profile says: a moment with two kernels counts once, one with none is no work."""

import pytest

from mis_scoring.bench.profile import summary_of


def test_overlapping_kernels_are_busy_once_and_gaps_are_not() -> None:
    spans = [(6.0, 10.0, "b"), (0.0, 4.0, "a"), (1.0, 3.0, "b"), (3.0, 5.0, "a")]
    found = summary_of(spans)
    assert found["seconds"] == pytest.approx(10e-6) and found["busy"] == pytest.approx(0.9)
    assert [(one["name"], one["launches"], one["mean_us"]) for one in found["kernels"]] == [
        ("a", 2, 3.0),
        ("b", 2, 3.0),
    ]
    assert [one["share"] for one in found["kernels"]] == pytest.approx([0.6, 0.6])
