"""Airflow's plugin that serves the runs' reports. Every Airflow process loads this file, so it imports little."""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from semlabel_dags.report_link import REPORTS_PREFIX


async def _reports(scope: Any, receive: Any, send: Any) -> None:
    from semlabel_dags.report_pages import app  # FastAPI, in the api-server only

    await app(scope, receive, send)


class RunReports(AirflowPlugin):
    """Mounts the reports' pages."""

    name = "semlabel_run_reports"
    fastapi_apps = [{"app": _reports, "url_prefix": REPORTS_PREFIX, "name": name}]  # noqa: RUF012
