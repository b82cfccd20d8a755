"""What a JVM says while it starts is kept back, and shown where the command fails."""

import subprocess
import sys

import pytest

from jobs.errors import FaultsError
from jobs.foreground_session import shown_on_failure, stderr_to


def say_as_a_child() -> None:
    subprocess.run(["sh", "-c", "echo WARNING of a JVM >&2"], check=True)


def test_a_start_that_succeeds_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with shown_on_failure() as said, stderr_to(said):
        say_as_a_child()
    sys.stderr.write("ours\n")
    assert capfd.readouterr().err == "ours\n"


@pytest.mark.parametrize(("error", "shown"), [(RuntimeError(), "WARNING of a JVM\n"), (FaultsError("load", []), "")])
def test_a_failure_shows_it_unless_the_error_says_all(
    capfd: pytest.CaptureFixture[str], error: Exception, shown: str
) -> None:
    with pytest.raises(type(error)), shown_on_failure() as said:
        with stderr_to(said):
            say_as_a_child()
        raise error
    assert capfd.readouterr().err == shown
