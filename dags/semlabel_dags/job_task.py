"""What every task that runs a job does with the job's result or failure, however the job is run.

A failure that a rerun would repeat fails the task for good; an engine, a machine or a process that died is retried.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk.exceptions import AirflowException, AirflowFailException, DownstreamTasksSkipped

from semlabel_dags.assets import Announcement
from semlabel_dags.lineage import lineage_of

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

FINAL_EXIT_CODES = {1: "a check did not hold", 2: "wrong usage", 3: "bad input", 4: "something needed is missing"}


class JobTask:
    """Mixed into an operator that runs a job.

    Attributes:
        job: name of a module in `jobs/`.
        values: the job's parameters; templated.
        skip_at_zero: (count, task_ids): where the result's count is 0, these later tasks are skipped, all at once.
        announcement: what is told to other DAGs where the job changed it.
        result: the job's, once it is done.
    """

    job: str
    values: dict[str, str]
    skip_at_zero: tuple[str, Sequence[str]] | None
    announcement: Announcement | None
    result: Mapping[str, Any] = MappingProxyType({})

    def hand_on(self, context: Mapping[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        """Tell what changed, skip what nobody needs, and return the result."""
        self.result = result
        if self.announcement:
            self.announcement.tell(context["outlet_events"], self.values | result)
        if self.skip_at_zero and result[self.skip_at_zero[0]] == 0:
            context["ti"].xcom_push("return_value", result)  # the exception takes the place of a return
            raise DownstreamTasksSkipped(tasks=list(self.skip_at_zero[1]))  # type: ignore[no-untyped-call]
        return result

    def fail(self, exit_code: int, message: str) -> NoReturn:
        """Fail the task: for good where a rerun would fail the same way, else to be retried."""
        if exit_code in FINAL_EXIT_CODES:
            raise AirflowFailException(f"{self.job}: {FINAL_EXIT_CODES[exit_code]}: {message}")
        raise AirflowException(f"{self.job} ended with exit code {exit_code}: {message}")

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> "OperatorLineage":
        """Tell OpenLineage which versions of which tables the job read and wrote."""
        return lineage_of(self.job, self.values | self.result)
