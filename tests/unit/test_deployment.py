"""What a deployment's settings mean for its services; that the services run is tested by `make soak`."""

import socket
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from jobs.errors import MissingRequirementError
from jobs.local.deployment import deployment_status, end_deployment, start_deployment
from jobs.local.services import secret, service_env, services
from jobs.local.supervisor import Supervisor
from jobs.settings import Settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in ("AIRFLOW_HOME", "AIRFLOW__CORE__LOAD_EXAMPLES", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    return Settings(home=tmp_path, _env_file=None)  # type: ignore[call-arg]


def changed(settings: Settings, **values: Any) -> Settings:
    return Settings(home=settings.home, _env_file=None, **values)  # type: ignore[call-arg]


def names(settings: Settings) -> list[str]:
    return [service.name for service in services(settings)]


def test_the_api_server_starts_first_and_the_scheduler_last(settings: Settings) -> None:
    assert names(settings) == [
        "api-server",
        "spark-connect",
        "ray",
        "mlflow",
        "metrics",
        "dag-processor",
        "triggerer",
        "scheduler",
    ]


def test_what_is_elsewhere_is_not_started(settings: Settings) -> None:
    there = {"spark_connect_url": "sc://spark:15002", "mlflow_uri": "http://mlflow:5000", "ray_address": "ray:6379"}
    elsewhere = changed(settings, **there)
    assert names(elsewhere) == ["api-server", "metrics", "dag-processor", "triggerer", "scheduler"]
    env = service_env(elsewhere)
    assert not {"SEMLABEL_SPARK_CONNECT_URL", "SEMLABEL_RAY_ADDRESS", "RAY_AUTH_TOKEN_PATH"} & set(env)
    assert "ray" not in names(changed(settings, ray_port=0))


def test_the_model_server_is_started_where_it_is_asked_for(settings: Settings) -> None:
    assert "model-server" in names(changed(settings, start_model_server=True))


def test_the_update_service_starts_last_and_only_where_it_is_asked_for(settings: Settings) -> None:
    assert "updates" not in names(settings)
    *_, last = services(changed(settings, start_updates=True, updates_port=50099))
    assert (last.name, last.ports, last.command[-2:]) == ("updates", (50099, 8071), ("updates", "serve"))


def test_updates_ask_the_model_server_that_is_started_beside_them(settings: Settings) -> None:
    def asked(**values: Any) -> dict[str, str]:
        env = service_env(changed(settings, start_updates=True, **values))
        return {name.removeprefix("SEMLABEL_UPDATES_SCORER"): env[name] for name in env if "_UPDATES_SCORER" in name}

    assert asked() == asked(start_model_server=True, updates_scorer="elsewhere:1") == {}, "the settings say it already"
    assert asked(start_model_server=True, serve_port=50077) == {"": "127.0.0.1:50077"}
    guarded = asked(start_model_server=True, serve_token_file="/t", serve_tls_certificate="/c", serve_tls_key="/k")
    assert guarded == {"": "127.0.0.1:50051", "_TOKEN_FILE": "/t", "_CA": "/c"}


def test_every_service_finds_the_same_spark_and_ray_by_their_tokens(settings: Settings) -> None:
    env = service_env(settings)
    token = env["SPARK_CONNECT_AUTHENTICATE_TOKEN"]
    assert env["SEMLABEL_SPARK_CONNECT_URL"] == f"sc://localhost:15002/;token={token}" and len(token) >= 24
    assert env["SEMLABEL_RAY_ADDRESS"] == "127.0.0.1:6379" and env["RAY_AUTH_MODE"] == "token"
    assert service_env(settings) == env, "a secret is made once"
    for path in (settings.deployment / "spark-connect-token", Path(env["RAY_AUTH_TOKEN_PATH"])):
        assert path.stat().st_mode & 0o777 == 0o600
    assert secret(settings, "other") != token


@pytest.mark.parametrize(
    ("values", "needs_login"),
    [
        ({}, False),
        ({"environment": "staging"}, True),
        ({"bind_host": "0.0.0.0"}, True),
        ({"environment": "staging", "bind_host": "0.0.0.0"}, True),
    ],
)
def test_only_a_local_deployment_on_loopback_lets_everybody_in(
    settings: Settings, values: dict[str, Any], needs_login: bool
) -> None:
    env = service_env(changed(settings, **values))
    assert env["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS"] == str(not needs_login)
    assert env["AIRFLOW__API__HOST"] == values.get("bind_host", "127.0.0.1")


def test_nothing_but_airflow_ever_leaves_loopback(settings: Settings) -> None:
    (mlflow,) = (one for one in services(changed(settings, bind_host="0.0.0.0")) if one.name == "mlflow")
    assert mlflow.command[mlflow.command.index("--host") + 1] == "127.0.0.1"


def test_one_setting_puts_airflow_on_postgresql(settings: Settings) -> None:
    assert service_env(settings)["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].startswith("sqlite:///")
    url = "postgresql+psycopg2://airflow@db/airflow"
    assert service_env(changed(settings, airflow_db=url))["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == url


def test_where_another_process_writes_to_sqlite_airflow_waits(settings: Settings) -> None:
    url = service_env(settings)["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    (settings.deployment / "airflow").mkdir(parents=True, exist_ok=True)
    with create_engine(url).connect() as connection:
        waits_ms = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    assert waits_ms == 60_000, "5 s is SQLite's own, and too little on a busy machine"


def test_what_the_environment_says_wins(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__PARALLELISM", "64")
    assert service_env(settings)["AIRFLOW__CORE__PARALLELISM"] == "64"


def test_a_port_that_is_taken_is_named_with_the_setting_before_anything_starts(settings: Settings) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(MissingRequirementError, match=f"api-server: {port}.*SEMLABEL_AIRFLOW_PORT"):
            start_deployment(changed(settings, airflow_port=port))
    assert not (settings.deployment / "airflow").exists()


def test_where_nothing_runs_there_is_nothing_to_end(settings: Settings) -> None:
    assert end_deployment(settings) is False
    assert deployment_status(settings)["services"] == []


def test_a_home_whose_socket_would_be_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="too long for a socket"):
        Supervisor(tmp_path / ("x" * 100))
