"""What a JVM says while it starts is kept back, and shown where the command fails."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from jobs.errors import FaultsError, MissingRequirementError
from jobs.foreground_session import foreground_session, shown_on_failure, stderr_to
from mis_scoring.core.errors import SemlabelError
from tests.world import settings_under


def say_as_a_child() -> None:
    subprocess.run(["sh", "-c", "echo WARNING of a JVM >&2"], check=True)


def test_a_start_that_succeeds_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryFile() as said, shown_on_failure(said), stderr_to(said):
        say_as_a_child()
    sys.stderr.write("ours\n")
    assert capfd.readouterr().err == "ours\n"


@pytest.mark.parametrize(("error", "shown"), [(RuntimeError(), "WARNING of a JVM\n"), (FaultsError("load", []), "")])
def test_a_failure_shows_it_unless_the_error_says_all(
    capfd: pytest.CaptureFixture[str], error: Exception, shown: str
) -> None:
    with (
        tempfile.TemporaryFile() as said,
        pytest.raises(type(error)),
        shown_on_failure(said, unless=(SemlabelError,)),
    ):
        with stderr_to(said):
            say_as_a_child()
        raise error
    assert capfd.readouterr().err == shown


def test_without_java_what_is_needed_is_said_below_what_the_start_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with (
        pytest.raises(MissingRequirementError, match="Spark needs Java 17"),
        foreground_session(settings_under(tmp_path), "test"),
    ):
        pass
    assert f"{tmp_path}/bin/java" in capfd.readouterr().err
