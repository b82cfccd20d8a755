"""Run a job of `jobs/` by its name, as a process of its own; the one place that knows how a job is run.

The job prints one JSON document, which becomes the task's result; what it logs goes to the task's log. An exit code
that says a rerun would give the same (bad input, a missing requirement) fails the task without a retry.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

_FINAL_EXIT_CODES = {1: "a check did not hold", 2: "wrong usage", 3: "bad input", 4: "something needed is missing"}


class JobOperator(BaseOperator):
    """Run `semlabel job NAME` and return its result.

    Args:
        job: name of a module in `jobs/`.
        values: the job's parameters; templated.
        only_if: templated count; the task is skipped where it renders to 0.
    """

    template_fields = ("values", "only_if")

    def __init__(self, *, job: str, values: Mapping[str, str], only_if: str = "1", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.values = dict(values)
        self.only_if = only_if
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Mapping[str, Any]) -> Any:
        """Run the job's process to its end."""
        if int(self.only_if) == 0:
            raise AirflowSkipException(f"nothing left to do for {self.job}")
        command = [sys.executable, "-m", "jobs.cli", "job", self.job, "--attempt", str(context["ti"].try_number)]
        command += [part for name, value in self.values.items() for part in ("--set", f"{name}={value}")]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        output, _ = self._process.communicate()
        self._check(self._process.returncode)
        return json.loads(output)

    def _check(self, exit_code: int) -> None:
        if exit_code in _FINAL_EXIT_CODES:
            raise AirflowFailException(f"{self.job}: {_FINAL_EXIT_CODES[exit_code]}; see the log above")
        if exit_code != 0:
            raise AirflowException(f"{self.job} ended with exit code {exit_code}; see the log above")

    def on_kill(self) -> None:
        """End the job's whole process group; what it had finished is kept, and a rerun goes on from there."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
