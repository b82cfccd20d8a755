"""Run a job of `jobs/` by its name; the one place that knows how a job is run.

`SEMLABEL_JOB_RUNNER` says how: `process` (default), a process of its own, which prints one JSON document on stdout and
logs on stderr; or `inline`, in the task's own process, for an Airflow in the foreground (`semlabel refresh`), where
starting Python costs each job 3 s. The job's result becomes the task's. A failure that a rerun would repeat (bad input,
a missing requirement) fails the task without a retry.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, DownstreamTasksSkipped

FINAL_EXIT_CODES = {1: "a check did not hold", 2: "wrong usage", 3: "bad input", 4: "something needed is missing"}
_RUNNERS = ("process", "inline")


class JobOperator(BaseOperator):
    """Run `semlabel job NAME` and return its result.

    Args:
        job: name of a module in `jobs/`.
        values: the job's parameters; templated.
        skip_at_zero: (count, task_ids): where the result's count is 0, these later tasks are skipped, all at once.
    """

    template_fields = ("values",)

    def __init__(
        self,
        *,
        job: str,
        values: Mapping[str, str],
        skip_at_zero: tuple[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.values = dict(values)
        self.skip_at_zero = skip_at_zero
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Mapping[str, Any]) -> Any:
        """Run the job to its end."""
        runner = os.environ.get("SEMLABEL_JOB_RUNNER", "process")
        if runner not in _RUNNERS:
            raise AirflowFailException(f"SEMLABEL_JOB_RUNNER is {runner!r}: give one of {', '.join(_RUNNERS)}")
        attempt = context["ti"].try_number
        result = self._run_inline(attempt) if runner == "inline" else self._run_process(attempt)
        if self.skip_at_zero and result[self.skip_at_zero[0]] == 0:
            context["ti"].xcom_push("return_value", result)  # the exception takes the place of a return
            raise DownstreamTasksSkipped(tasks=list(self.skip_at_zero[1]))  # type: ignore[no-untyped-call]
        return result

    def _run_process(self, attempt: int) -> Any:
        command = [sys.executable, "-m", "jobs.cli", "job", self.job, "--attempt", str(attempt)]
        command += [part for name, value in self.values.items() for part in ("--set", f"{name}={value}")]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        output, _ = self._process.communicate()
        if self._process.returncode != 0:
            self._fail(self._process.returncode, "see the log above")
        return json.loads(output)

    def _run_inline(self, attempt: int) -> Any:
        from jobs.exit_codes import exit_code_of
        from jobs.logs import log_to_stderr
        from jobs.run_job import run_job
        from jobs.settings import Settings
        from mis_scoring.core.errors import SemlabelError

        log_to_stderr()
        try:
            return json.loads(json.dumps(run_job(self.job, self.values, Settings(), attempt=attempt), default=str))
        except SemlabelError as error:
            sys.stderr.write(f"{error}\n")
            self._fail(exit_code_of(error), str(error))

    def _fail(self, exit_code: int, message: str) -> NoReturn:
        if exit_code in FINAL_EXIT_CODES:
            raise AirflowFailException(f"{self.job}: {FINAL_EXIT_CODES[exit_code]}: {message}")
        raise AirflowException(f"{self.job} ended with exit code {exit_code}: {message}")

    def on_kill(self) -> None:
        """End the job's whole process group; what it had finished is kept, and a rerun goes on from there."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
