"""The link from a run's report task to its report."""

from typing import Any

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

REPORTS_PREFIX = "/semlabel/reports"  # where the plugin serves them


class ReportLink(BaseOperatorLink):
    """A button on the task: the run's HTML report, served by Airflow to whoever may see the DAG."""

    name = "Run report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the report's address; the worker calls this when the task has ended."""
        base = conf.get("api", "base_url", fallback="").rstrip("/")
        return f"{base}{REPORTS_PREFIX}/{ti_key.dag_id}/{operator.values['run_id']}"
