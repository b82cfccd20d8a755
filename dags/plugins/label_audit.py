"""Airflow's plugin that serves the auditor's pages. Every Airflow process loads this file, so it imports little."""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

_PREFIX = "/semlabel/audit"


async def _pages(scope: Any, receive: Any, send: Any) -> None:
    from semlabel_dags.audit_pages import app  # FastAPI, in the api-server only

    await app(scope, receive, send)


class LabelAudit(AirflowPlugin):
    """Mounts the pages, and shows them in Airflow's menu."""

    name = "semlabel_label_audit"
    fastapi_apps = [{"app": _pages, "url_prefix": _PREFIX, "name": name}]  # noqa: RUF012
    external_views = [  # noqa: RUF012
        # relative to Airflow's own address, which may have a path
        {"name": "Labels", "href": f"{_PREFIX[1:]}/", "url_route": "labels", "destination": "nav", "category": "browse"}
    ]
