"""The error that a failed score stage came from, through whatever Ray wrapped around it."""

from mis_scoring.core.errors import EngineError
from mis_scoring.engines.canary import CanaryError
from mis_scoring.ray_data.failures import error_of

CANARY = CanaryError("cascade", ["a neighbour moves a score by 0.2", "all scores are equal"])


def test_an_error_object_is_found_behind_its_wrappers() -> None:
    wrapped = RuntimeError("the dataset failed")
    wrapped.cause = ValueError("the task failed")  # type: ignore[attr-defined]
    wrapped.cause.__cause__ = CANARY  # type: ignore[attr-defined]
    assert error_of(wrapped) is CANARY


def test_an_error_that_came_as_text_keeps_all_its_faults() -> None:
    trace = f"The actor died in its constructor:\n  File x, line 1\nmis_scoring.engines.canary.CanaryError: {CANARY}\n"
    found = error_of(RuntimeError(f"{trace}The actor never ran - its node is gone"))
    assert isinstance(found, EngineError)
    assert all(fault in str(found) for fault in CANARY.faults) and "never ran" not in str(found)


def test_a_failure_without_a_word_of_ours_gives_its_last_line() -> None:
    assert str(error_of(RuntimeError("one\ntwo"))) == "the score stage ended: two"
