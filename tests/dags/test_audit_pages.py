"""The auditor's pages in Airflow's api-server: for whom Airflow's auth manager gives the view, and for nobody else."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.dags.conftest import ApiServer

LABEL = "label?member=ann&qualification=q1"


def paths() -> list[str]:
    """An address of each route of the app; a route that is added later is among them."""
    from semlabel_dags.audit_pages import app

    asked = {"/label": f"/{LABEL}", "/member": "/member?id=ann", "/report": "/report?run=x", "/run": "/run?id=x"}
    return [f"/semlabel/audit{asked.get(route.path, route.path)}" for route in app.routes]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def client(api_server: ApiServer) -> TestClient:
    from tests.audited_store import write_audited_store

    write_audited_store(api_server.settings.tables)
    return api_server.client


def as_user(role: str | None) -> dict[str, str]:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user: Any = SimpleAuthManagerUser(username="ann", role=role)
    return {"Authorization": f"Bearer {get_auth_manager().generate_jwt(user)}"}


def test_a_user_with_the_view_sees_a_label_under_airflows_address(client: TestClient) -> None:
    page = client.get(f"/semlabel/audit/{LABEL}", headers=as_user("VIEWER"))
    assert page.status_code == 200 and "Accepted" in page.text
    assert 'href="/semlabel/audit/member?id=ann"' in page.text, "links stay where the app is mounted"
    assert page.headers["X-Frame-Options"] == "SAMEORIGIN", "Airflow shows it in a frame of its own"
    assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize("headers", [{}, {"Cookie": "semlabel_web_0=x"}, {"X-User": "admin"}])
def test_without_a_user_every_route_is_401(client: TestClient, headers: dict[str, str]) -> None:
    answers = {path: client.get(path, headers=headers) for path in paths()}
    assert len(answers) >= 10
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 401)
    assert not any("ann" in answer.text.replace("annot", "") for answer in answers.values())


def test_a_token_that_airflow_did_not_sign_opens_nothing(client: TestClient) -> None:
    answers = {path: client.get(path, headers={"Authorization": "Bearer nonsense"}).status_code for path in paths()}
    assert set(answers.values()) <= {401, 403}


def test_without_the_view_every_route_is_403(client: TestClient) -> None:
    answers = {path: client.get(path, headers=as_user(None)).status_code for path in paths()}
    assert answers == dict.fromkeys(answers, 403)


def test_the_view_is_asked_for_by_its_name(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """An auth manager with rights by resource can give this view to auditors alone."""
    from airflow.api_fastapi.app import get_auth_manager

    def is_authorized(_: Any, *, resource_name: str, **__: Any) -> bool:
        return resource_name != "semlabel_audit"

    monkeypatch.setattr(type(get_auth_manager()), "is_authorized_custom_view", is_authorized)
    assert client.get("/semlabel/audit/", headers=as_user("ADMIN")).status_code == 403


def test_an_auth_manager_that_fails_opens_nothing(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.app import get_auth_manager

    def fails(*_: Any, **__: Any) -> bool:
        raise RuntimeError("no answer")

    monkeypatch.setattr(type(get_auth_manager()), "is_authorized_custom_view", fails)
    with pytest.raises(RuntimeError, match="no answer"):
        client.get(f"/semlabel/audit/{LABEL}", headers=as_user("ADMIN"))


def test_airflows_menu_has_the_pages(client: TestClient) -> None:
    plugins = client.get("/api/v2/plugins", headers=as_user("ADMIN")).json()["plugins"]
    (found,) = (plugin for plugin in plugins if plugin["name"] == "semlabel_label_audit")
    (view,) = found["external_views"]
    assert (
        view["url_route"] == "labels" and client.get(f"/{view['href']}", headers=as_user("VIEWER")).status_code == 200
    )
