"""The auditor's pages in Airflow's api-server, for whoever its auth manager gives the custom view `semlabel_audit`.

Airflow checks no user for a plugin's routes: the guard here does, before every one of them.
"""

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import HTTPException

from jobs.settings import Settings
from jobs.web.app import create_app

CUSTOM_VIEW = "semlabel_audit"


def may_audit(user: GetUserDep) -> None:
    """Raise 401 where Airflow knows no user (its dependency does), 403 where the user may not see the view."""
    if not get_auth_manager().is_authorized_custom_view(method="GET", resource_name=CUSTOM_VIEW, user=user):
        raise HTTPException(403, f"You may not see the labels: Airflow's view {CUSTOM_VIEW} is not among your rights.")


app = create_app(Settings(), may_audit, framing="self")
