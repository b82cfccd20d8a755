from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from starlette.testclient import TestClient

from jobs.settings import Settings
from tests.dag_runs import make_database
from tests.world import settings_under


@pytest.fixture(scope="session")
def database() -> None:
    """Airflow's database, made once."""
    make_database()


@dataclass(frozen=True)
class ApiServer:
    """Airflow's own app, with the plugins and with users, over a home of the tests."""

    client: TestClient
    settings: Settings


@pytest.fixture(scope="session")
def api_server(database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEMLABEL_HOME", str(home))
        from airflow.api_fastapi.app import create_app

        yield ApiServer(TestClient(create_app(apps="core"), base_url="http://localhost"), settings_under(home))
