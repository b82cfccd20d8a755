"""The services of a deployment on one machine: what each runs, and how it says that it is there.

Left out is what the settings say is elsewhere: MLflow with an `mlflow_uri`, Spark with a `spark_connect_url`, Ray with
a `ray_address`.
"""

import json
import os
import secrets
import socket
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jobs.local.airflow_home import airflow_command, airflow_env
from jobs.local.ray_head import ray_env
from jobs.settings import Settings

API_SERVER = "api-server"


@dataclass(frozen=True, kw_only=True)
class Service:
    """One supervised program.

    Attributes:
        ports: where it listens; the first is there once it is.
        is_healthy: asks it; False or an OSError: not yet.
    """

    name: str
    command: tuple[str, ...]
    is_healthy: Callable[[], bool]
    ports: tuple[int, ...] = ()


def services(settings: Settings) -> list[Service]:
    """Return the deployment's services in the order in which they start: tasks need the api-server first."""
    wanted = [_airflow(settings, API_SERVER, port=settings.airflow_port)]
    if not settings.spark_connect_url:
        wanted.append(_module("spark-connect", "jobs.local.connect_server", ports=(settings.spark_connect_port,)))
    if _has_ray(settings):
        wanted.append(_module("ray", "jobs.local.ray_head", ports=(settings.ray_port,)))
    if not settings.mlflow_uri:
        wanted.append(_mlflow(settings))
    if settings.start_model_server:
        ports = settings.serve_metrics_port, settings.serve_port
        wanted.append(_module("model-server", "jobs.cli", "serve", ports=ports))
    wanted += [
        _module("metrics", "jobs.cli", "metrics", ports=(settings.metrics_port,)),
        _airflow(settings, "dag-processor", reports_as="dag_processor"),
        _airflow(settings, "triggerer", "--skip-serve-logs"),
        _airflow(settings, "scheduler", "--skip-serve-logs"),
    ]
    if settings.start_updates:
        ports = settings.updates_port, settings.updates_http_port
        wanted.append(_module("updates", "jobs.cli", "updates", "serve", ports=ports))
    return wanted


def service_env(settings: Settings) -> dict[str, str]:
    """Return the environment of every service, and so of every job; what is set already wins."""
    own = {
        "AIRFLOW__API__BASE_URL": airflow_url(settings),
        "AIRFLOW__API__HOST": settings.bind_host,
        "AIRFLOW__API__PORT": str(settings.airflow_port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{settings.airflow_port}/execution/",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": str(settings.parallel_tasks),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": str(not settings.needs_login),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(password_file(settings)),
        "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
        # an api-server that starts again takes longer than the 18 s that a task waits for it by default
        "AIRFLOW__WORKERS__EXECUTION_API_RETRIES": "20",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # its job runners are eight more processes
    }
    if settings.airflow_db:
        own["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = settings.airflow_db
    if not settings.spark_connect_url:
        token = secret(settings, "spark-connect-token")
        own["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = token
        own["SEMLABEL_SPARK_CONNECT_URL"] = f"sc://localhost:{settings.spark_connect_port}/;token={token}"
    if _has_ray(settings):
        secret(settings, "ray-token")
        own |= ray_env(settings.deployment / "ray-token")
        own["SEMLABEL_RAY_ADDRESS"] = f"127.0.0.1:{settings.ray_port}"
    if settings.start_updates and settings.start_model_server and not settings.updates_scorer:
        own |= _scorer_env(settings)
    return airflow_env(settings, settings.deployment / "airflow", own) | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "SEMLABEL_HOME": str(settings.home.resolve()),
    }


def _scorer_env(settings: Settings) -> dict[str, str]:
    """Return how the update service asks the deployment's own model server, and loads no second engine."""
    files = {"TOKEN_FILE": settings.serve_token_file, "CA": settings.serve_tls_certificate}
    given = {f"SEMLABEL_UPDATES_SCORER_{name}": str(file.resolve()) for name, file in files.items() if file}
    return given | {"SEMLABEL_UPDATES_SCORER": f"{settings.serve_host}:{settings.serve_port}"}


def airflow_url(settings: Settings) -> str:
    """Where a browser finds Airflow."""
    return f"http://{settings.bind_host}:{settings.airflow_port}"


def password_file(settings: Settings) -> Path:
    """Where Airflow leaves the password that it made for the user `admin`."""
    return settings.deployment / "airflow-passwords.json"


def secret(settings: Settings, name: str) -> str:
    """Return a secret of the deployment, made on first use and readable by its owner only."""
    path = settings.deployment / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(24))
    return path.read_text()


def _airflow(settings: Settings, name: str, *options: str, port: int = 0, reports_as: str = "") -> Service:
    component = reports_as or ("metadatabase" if name == API_SERVER else name)
    return Service(
        name=name,
        command=tuple(airflow_command(name, *options)),
        ports=(port,) if port else (),
        is_healthy=lambda: _reports_health(settings, component),
    )


def _reports_health(settings: Settings, component: str) -> bool:
    """Ask the api-server, which knows the heartbeats of the others."""
    url = f"http://127.0.0.1:{settings.airflow_port}/api/v2/monitor/health"
    with urllib.request.urlopen(url, timeout=5) as answer:
        return bool(json.load(answer)[component]["status"] == "healthy")


def _has_ray(settings: Settings) -> bool:
    return bool(settings.ray_port) and not settings.ray_address


def _module(name: str, module: str, *options: str, ports: tuple[int, ...]) -> Service:
    command = (sys.executable, "-m", module, *options)
    return Service(name=name, command=command, ports=ports, is_healthy=lambda: _listens(ports[0]))


def _mlflow(settings: Settings) -> Service:
    """MLflow's page; it knows no login, so it stays on loopback."""
    port = settings.mlflow_port
    command = [str(Path(sys.executable).parent / "mlflow"), "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", settings.tracking_uri, "--workers", "1"]
    command += ["--default-artifact-root", (settings.home / "mlflow-artifacts").resolve().as_uri()]
    return Service(name="mlflow", command=tuple(command), ports=(port,), is_healthy=lambda: _listens(port))


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
