"""Run a Spark job of `jobs/` by spark-submit, through Airflow's Spark provider; the result is read from the ledger."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

from semlabel_dags.assets import Announcement
from semlabel_dags.job_task import JobTask

_EXIT_CODE = re.compile(r"Error code is: (\d+)")  # the provider's text; the driver's own exit code


class SparkSubmitJob(JobTask, SparkSubmitOperator):
    """Submit `semlabel job NAME` to the deployment's Spark master, in client mode.

    Args:
        job, values, skip_at_zero, announcement: see `JobTask`.
    """

    template_fields = ("values",)

    def __init__(
        self,
        *,
        job: str,
        values: Mapping[str, str],
        skip_at_zero: tuple[str, Sequence[str]] | None = None,
        announcement: Announcement | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=f"semlabel {job}", **kwargs)
        self.job = job
        self.values = dict(values)
        self.skip_at_zero = skip_at_zero
        self.announcement = announcement

    def execute(self, context: Mapping[str, Any]) -> Any:  # type: ignore[override]
        """Submit the job, wait for its end, and return what it left in the ledger."""
        import jobs
        from jobs.run_job import result_of
        from jobs.settings import Settings
        from jobs.spark_session import server_conf

        settings, attempt = Settings(), context["ti"].try_number
        self.application = str(Path(jobs.__file__).parent / "cli.py")
        self.conf = server_conf(settings)
        self.application_args = ["job", self.job, "--attempt", str(attempt)]
        self.application_args += ["--triggered-at", context["dag_run"].run_after.isoformat()]
        self.application_args += [part for name, value in self.values.items() for part in ("--set", f"{name}={value}")]
        try:
            super().execute(context)  # type: ignore[arg-type]
        except AirflowException as error:
            found = _EXIT_CODE.search(str(error))
            self.fail(int(found.group(1)) if found else -1, "see the driver's log above")
        return self.hand_on(context, result_of(self.job, self.values, settings, attempt=attempt))
