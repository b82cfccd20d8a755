"""The run reports in Airflow's api-server: for whoever may see the DAG there, and for nobody else."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.dags.conftest import ApiServer

RUN_ID = "weekly_full-0123456789ab"
PAGE = f"/semlabel/reports/weekly_full/{RUN_ID}"


@pytest.fixture(scope="module")
def client(api_server: ApiServer) -> TestClient:
    home = api_server.settings.home
    (home / "reports").mkdir(exist_ok=True)
    (home / "reports" / f"{RUN_ID}.html").write_text("<p>of this run</p>")
    (home / "secret.html").write_text("<p>never this</p>")
    return api_server.client


def as_viewer() -> dict[str, str]:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user: Any = SimpleAuthManagerUser(username="ann", role="VIEWER")
    return {"Authorization": f"Bearer {get_auth_manager().generate_jwt(user)}"}


def test_a_user_who_sees_the_dag_sees_its_reports(client: TestClient) -> None:
    page = client.get(PAGE, headers=as_viewer())
    assert page.status_code == 200 and page.text == "<p>of this run</p>"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}, {"Cookie": "_token=nonsense"}])
def test_nobody_else_sees_them(client: TestClient, headers: dict[str, str]) -> None:
    answer = client.get(PAGE, headers=headers)
    assert answer.status_code in (401, 403) and "this run" not in answer.text


def test_a_user_without_the_right_does_not_see_them(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.app import get_auth_manager

    monkeypatch.setattr(type(get_auth_manager()), "is_authorized_dag", lambda *_, **__: False)
    assert client.get(PAGE, headers=as_viewer()).status_code == 403


@pytest.mark.parametrize(
    "path", ["weekly_full/weekly_full-000000000000", f"daily_incremental/{RUN_ID}", "weekly_full/..%2Fsecret", "x/y"]
)
def test_there_is_no_other_page(client: TestClient, path: str) -> None:
    assert client.get(f"/semlabel/reports/{path}", headers=as_viewer()).status_code == 404
