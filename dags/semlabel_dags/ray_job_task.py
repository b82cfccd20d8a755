"""Run a Ray job of `jobs/` as a job of the cluster: `semlabel job NAME` on its head, with the settings of its image."""

from collections.abc import Mapping, Sequence
from typing import Any

from semlabel_dags.assets import Announcement
from semlabel_dags.job_task import JobTask
from semlabel_dags.ray_operator import RayJobOperator

_ATTEMPT = "--attempt {{ ti.try_number }} --triggered-at {{ dag_run.run_after.isoformat() }}"


class RayJobTask(JobTask, RayJobOperator):
    """Submit `semlabel job NAME` to the cluster behind the connection `ray_jobs`.

    The submission is named by the job and its parameters: whoever asks again, after a restart too, finds the job that
    runs already.

    Args:
        job, values, skip_at_zero, announcement: see `JobTask`. Parameters are ids and numbers, safe in a shell.
    """

    template_fields = ("values", *RayJobOperator.template_fields)

    def __init__(
        self,
        *,
        job: str,
        values: Mapping[str, str],
        skip_at_zero: tuple[str, Sequence[str]] | None = None,
        announcement: Announcement | None = None,
        **kwargs: Any,
    ) -> None:
        options = " ".join(f"--set {name}={value}" for name, value in values.items())
        super().__init__(
            entrypoint=f"python -m jobs.cli job {job} {_ATTEMPT} {options}",
            submission_id="-".join([job, *values.values()]),
            job_timeout=kwargs["execution_timeout"],  # Airflow's own ends when the task defers
            **kwargs,
        )
        self.job = job
        self.values = dict(values)
        self.skip_at_zero = skip_at_zero
        self.announcement = announcement

    def finish(self, context: Mapping[str, Any], event: Mapping[str, Any]) -> Any:
        """Return the job's result once it has ended."""
        return self.hand_on(context, super().finish(context, event))
