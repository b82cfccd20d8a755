"""Run a job of `jobs/` by its name on the worker: as a process of its own, or inline."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator

from semlabel_dags.assets import Announcement
from semlabel_dags.job_process import JobProcess
from semlabel_dags.job_task import JobTask


class JobOperator(JobTask, BaseOperator):
    """Run `semlabel job NAME` and return its result.

    Args:
        is_inline: in the task's own process, for an Airflow in the foreground (`semlabel refresh`), where starting
            Python costs each job 3 s.
        job, values, skip_at_zero, announcement: see `JobTask`.
    """

    template_fields = ("values",)

    def __init__(
        self,
        *,
        job: str,
        values: Mapping[str, str],
        is_inline: bool = False,
        skip_at_zero: tuple[str, Sequence[str]] | None = None,
        announcement: Announcement | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.values = dict(values)
        self.is_inline = is_inline
        self.skip_at_zero = skip_at_zero
        self.announcement = announcement
        self._process: JobProcess | None = None

    def execute(self, context: Mapping[str, Any]) -> Any:
        """Run the job to its end."""
        attempt, triggered_at = context["ti"].try_number, context["dag_run"].run_after.isoformat()
        run = self._run_inline if self.is_inline else self._run_process
        return self.hand_on(context, run(attempt, triggered_at))

    def _run_process(self, attempt: int, triggered_at: str) -> Any:
        options = ("--attempt", str(attempt), "--triggered-at", triggered_at)
        self._process = JobProcess(self.job, self.values, *options)
        exit_code, document = self._process.run()
        if exit_code != 0:
            self.fail(exit_code, (document or {}).get("error", "see the log above"))
        return document

    def _run_inline(self, attempt: int, triggered_at: str) -> Any:
        from datetime import datetime

        from jobs.exit_codes import exit_code_of
        from jobs.logs import log_to_stderr
        from jobs.run_job import run_job
        from jobs.settings import Settings
        from mis_scoring.core.errors import SemlabelError

        log_to_stderr()
        try:
            since = datetime.fromisoformat(triggered_at)
            result = run_job(self.job, self.values, Settings(), attempt=attempt, triggered_at=since)
        except SemlabelError as error:
            sys.stderr.write(f"{error}\n")
            self.fail(exit_code_of(error), str(error))
        return json.loads(json.dumps(result, default=str))

    def on_kill(self) -> None:
        """End the job with its task."""
        if self._process is not None:
            self._process.end()
