"""Run a command as a job of a Ray cluster, by Ray's Jobs API; there is no maintained provider for Airflow 3.

The task defers at once: the triggerer submits the job and follows it (`ray_trigger`), so that no worker waits, and a
worker or triggerer that restarts finds the job again instead of submitting a second one.

The result is the last JSON document that the job printed, read from its log. The ledger has it too, but under the
number of the try that submitted the job, which is not the try that reads it after a restart.
"""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any, NoReturn

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from semlabel_dags.job_task import FINAL_EXIT_CODES
from semlabel_dags.ray_job import RayJob
from semlabel_dags.ray_trigger import RayJobTrigger


class RayJobOperator(BaseOperator):
    """Run a shell command on a Ray cluster and return the JSON document that it prints.

    A command that ends with an exit code that a rerun would repeat (see `FINAL_EXIT_CODES`) fails the task for good, as
    does a job that somebody stopped; any other failure is retried, as a job of its own.

    Args:
        entrypoint: run by a shell on the head node; templated.
        submission_id: names the job on the cluster, the number of the try is added; the same for the same work,
            whoever asks; templated.
        env_vars: of the command and its actors, beside the cluster's own; templated. Not for secrets: Ray's dashboard
            shows them.
        job_timeout: since the job was submitted; it is stopped then, and the task is retried.
        conn_id: see `RayJobTrigger`.
    """

    template_fields = ("entrypoint", "submission_id", "env_vars")

    def __init__(
        self,
        *,
        entrypoint: str,
        submission_id: str,
        env_vars: Mapping[str, str] | None = None,
        job_timeout: timedelta = timedelta(hours=12),
        conn_id: str = "ray_jobs",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.entrypoint = entrypoint
        self.submission_id = submission_id
        self.env_vars = dict(env_vars or {})
        self.job_timeout = job_timeout
        self.conn_id = conn_id

    def execute(self, context: Mapping[str, Any]) -> Any:
        """Hand the job to the triggerer."""
        ti = context["ti"]
        job = RayJob(
            entrypoint=self.entrypoint,
            submission_id=self.submission_id,
            first_try=max(1, ti.max_tries - (self.retries or 0) + 1),  # Airflow raises max_tries when a task is cleared
            try_number=ti.try_number,
            env_vars=self.env_vars,
            timeout_s=self.job_timeout.total_seconds(),
        )
        self.defer(trigger=RayJobTrigger(conn_id=self.conn_id, job=asdict(job)), method_name="finish")

    def finish(self, context: Mapping[str, Any], event: Mapping[str, Any]) -> Any:
        """Return the job's document, or fail the task."""
        name, status, document = event["name"], event["status"], event["result"]
        if status == "STOPPED":
            raise AirflowFailException(f"{name} was stopped by somebody on the cluster; clear the task to run it again")
        if status != "SUCCEEDED":
            self.fail(event["exit_code"], f"{name}: {status}: {(document or {}).get('error') or event['message']}")
        if document is None:
            raise AirflowException(f"{name} ended well and its log has no JSON document")
        return document

    def fail(self, exit_code: int | None, message: str) -> NoReturn:
        """Fail the task: for good where a rerun would fail the same way, else to be retried."""
        if exit_code in FINAL_EXIT_CODES:
            raise AirflowFailException(f"{FINAL_EXIT_CODES[exit_code]}: {message}")
        raise AirflowException(f"exit code {exit_code}: {message}")
