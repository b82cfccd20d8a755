"""How far a step has come is counted by what workers leave, and said only where it moved."""

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.progress import logged_progress, tally, tally_into


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 50), max_size=4), max_size=4), st.integers(0, 300))
def test_all_workers_count_together_and_never_more_than_there_is(
    tmp_path_factory: pytest.TempPathFactory, workers: list[list[int]], at_most: int
) -> None:
    folder = tmp_path_factory.mktemp("tally")
    for steps in workers:
        add = tally_into(str(folder))
        for n in steps:
            add(n)
    assert tally(folder, at_most=at_most) == min(at_most, sum(map(sum, workers)))


def test_a_line_is_logged_where_something_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(["0 of 2", "0 of 2", "1 of 2", "1 of 2"])
    is_asked_out = threading.Event()

    def say() -> str:
        try:
            return next(said)
        except StopIteration:
            is_asked_out.set()
            return "1 of 2"

    lines: list[str] = []
    monkeypatch.setattr("jobs.progress.log.info", lambda _, line: lines.append(line))
    with logged_progress(say, every_s=0.001):
        assert is_asked_out.wait(30)
    assert lines == ["0 of 2", "1 of 2"]
