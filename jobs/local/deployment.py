"""Start and end a whole deployment on this machine; its services, their order and health are in `services`."""

import logging
import socket
import subprocess
from typing import Any

from jobs.errors import MissingRequirementError
from jobs.local.airflow_home import airflow_command
from jobs.local.services import Service, airflow_url, password_file, service_env, services
from jobs.local.supervisor import Supervisor, wait_until_healthy
from jobs.settings import Settings
from jobs.spark_session import delta_jars

log = logging.getLogger(__name__)

_HEALTHY_WITHIN_S = 180
_POOL = ("pools", "set", "--include-deferred", "engines")  # a round on a cluster waits deferred, with its engine


def start_deployment(settings: Settings) -> dict[str, Any]:
    """Start what is not running, in order, and return when every service is healthy.

    Raises:
        MissingRequirementError: a port is taken, jars are missing, or a service does not become healthy.
    """
    delta_jars(settings)
    supervisor, wanted = Supervisor(settings.deployment), services(settings)
    if not supervisor.is_running():
        _require_free_ports(wanted)
        _prepare_airflow(settings)
        supervisor.launch(wanted, service_env(settings))
    for service in wanted:
        supervisor.start(service)
        if service is wanted[0]:  # a scheduler that starts a task before the api-server listens fails the task
            _wait(settings, service)
    for service in wanted:
        _wait(settings, service)
    return deployment_status(settings)


def end_deployment(settings: Settings) -> bool:
    """End the services that `start_deployment` started, and nothing else; return whether there were any."""
    supervisor = Supervisor(settings.deployment)
    if not supervisor.is_running():
        return False
    supervisor.end()
    return True


def deployment_status(settings: Settings) -> dict[str, Any]:
    """Return where things are and the state of each service."""
    supervisor = Supervisor(settings.deployment)
    return {
        "airflow": airflow_url(settings),
        "login": f"admin, {password_file(settings)}" if settings.needs_login else "none: local and on loopback",
        "metrics": f"http://127.0.0.1:{settings.metrics_port}/metrics",
        "mlflow": settings.mlflow_uri or f"http://127.0.0.1:{settings.mlflow_port}",
        "logs": str(settings.deployment / "logs"),
        "services": supervisor.programs() if supervisor.is_running() else [],
    }


def run_airflow(settings: Settings, arguments: list[str]) -> int:
    """Run Airflow's own command line on the deployment, in the foreground; return its exit code."""
    return subprocess.run(airflow_command(*arguments), env=service_env(settings), check=False).returncode


def _wait(settings: Settings, service: Service) -> None:
    wait_until_healthy(service, within_s=_HEALTHY_WITHIN_S, log=settings.deployment / "logs" / f"{service.name}.log")
    log.info("%s is up", service.name)


def _require_free_ports(wanted: list[Service]) -> None:
    taken = [f"{service.name}: {port}" for service in wanted for port in service.ports if port and _is_taken(port)]
    if taken:
        raise MissingRequirementError(
            f"Ports are taken by other programs ({', '.join(taken)}): set SEMLABEL_AIRFLOW_PORT, "
            "SEMLABEL_METRICS_PORT, SEMLABEL_MLFLOW_PORT, SEMLABEL_RAY_PORT, SEMLABEL_SERVE_PORT, "
            "SEMLABEL_SERVE_METRICS_PORT, SEMLABEL_SPARK_CONNECT_PORT, SEMLABEL_UPDATES_PORT or "
            "SEMLABEL_UPDATES_HTTP_PORT."
        )


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _prepare_airflow(settings: Settings) -> None:
    """Make or migrate the database, and the pool whose slots are engines."""
    settings.lineage.mkdir(parents=True, exist_ok=True)
    (settings.deployment / "airflow").mkdir(parents=True, exist_ok=True)
    password_file(settings).touch(mode=0o600)
    log.info("preparing Airflow's database")
    slots = str(settings.engine_slots)
    for command in (("db", "migrate"), (*_POOL, slots, "rounds that may be scored at once")):
        done = subprocess.run(
            airflow_command(*command), env=service_env(settings), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise MissingRequirementError(f"airflow {' '.join(command)} failed:\n{done.stderr[-2000:]}")
