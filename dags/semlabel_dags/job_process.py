"""A job as a child process: `semlabel job NAME`, one JSON document on stdout, its log on stderr.

The job ends with its task: its group when the task is killed, and itself when the task's own process dies without a
word (SIGKILL), so that a second attempt never runs beside the first.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

_GRACE_S = 20
_PR_SET_PDEATHSIG = 1  # Linux, prctl(2)


class JobProcess:
    """One run of a job's command."""

    def __init__(self, job: str, values: Mapping[str, str], *options: str) -> None:
        self._command = [sys.executable, "-m", "jobs.cli", "job", job, *options]
        self._command += [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> tuple[int, Any]:
        """Run to the end and return the exit code with the document; what it logs goes where this process logs."""
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )
        output, _ = self._process.communicate()
        return self._process.returncode, _document(output)

    def end(self) -> None:
        """End the job's whole process group; what it had finished is kept, and a rerun goes on from there."""
        if self._process is None or self._process.poll() is not None:
            return
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _document(text: str) -> Any:
    """Return what the job printed; None where it died before it printed anything."""
    try:
        return json.loads(text)
    except ValueError:
        return None
