"""Airflow's settings for a machine without a deployment: SQLite, quiet, everything under `home`."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from jobs.settings import Settings


def airflow_env(settings: Settings) -> dict[str, str]:
    """Return the environment of an Airflow process that belongs to this deployment.

    Values that are set already win: a real deployment configures Airflow itself.
    """
    home = (settings.home / "airflow").resolve()
    own = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(settings.dags_dir.resolve()),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "10",
        "PYTHONWARNINGS": "ignore",
        # the DAGs name their shared folder, and the jobs, as packages of this checkout
        "PYTHONPATH": os.pathsep.join(filter(None, [str(settings.dags_dir), os.environ.get("PYTHONPATH", "")])),
    }
    return (
        own
        | {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        | {"PYTHONPATH": own["PYTHONPATH"]}
    )


def migrate(settings: Settings) -> None:
    """Make Airflow's database on first use."""
    if not (settings.home / "airflow" / "airflow.db").exists():
        run_airflow(settings, "db", "migrate", quiet=True)


def run_airflow(settings: Settings, *arguments: str, quiet: bool = False) -> int:
    """Run the `airflow` of this environment in the foreground and return its exit code."""
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(_command(*arguments), env=_env(settings), stdout=output, check=False).returncode


@contextmanager
def started_airflow(settings: Settings, *arguments: str, env: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the `airflow` of this environment, yield its process, and end it if the block fails."""
    process = subprocess.Popen(_command(*arguments), env=_env(settings) | dict(env))
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).parent / "airflow"), *arguments]


def _env(settings: Settings) -> dict[str, str]:
    (settings.home / "airflow").mkdir(parents=True, exist_ok=True)
    return airflow_env(settings)
