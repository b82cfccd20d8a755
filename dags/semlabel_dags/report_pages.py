"""The runs' reports as pages of Airflow's api-server, for whoever may see the DAG's runs there.

Airflow checks no user for a plugin's routes: each one here asks Airflow's own dependencies, and without a user, or
without the right, there is no page.
"""

import re

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import FileResponse

from jobs.settings import Settings

_RUN_ID = re.compile(r"[a-z_]+-[0-9a-f]{12}")
# the report is one file with its styles and pictures in it; whatever else it might hold is not run
_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:"}

app = FastAPI(openapi_url=None)


@app.get("/{dag_id}/{run_id}", dependencies=[Depends(requires_access_dag("GET", DagAccessEntity.RUN))])
def run_report(dag_id: str, run_id: str) -> FileResponse:
    """Return the report of a refresh run of this DAG; 404 where there is none."""
    page = Settings().reports / f"{run_id}.html"
    if not _RUN_ID.fullmatch(run_id) or not run_id.startswith(f"{dag_id}-") or not page.is_file():
        raise HTTPException(404, f"no report of run {run_id} of {dag_id}")
    return FileResponse(page, media_type="text/html", headers=_HEADERS)
