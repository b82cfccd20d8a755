"""Airflow's settings for a machine without a deployment: SQLite, quiet, everything under `home`."""

import os
import subprocess
import sys
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


def run_airflow(settings: Settings, *arguments: str, quiet: bool = False, env: dict[str, str] | None = None) -> int:
    """Run the `airflow` of this environment in the foreground and return its exit code."""
    airflow = str(Path(sys.executable).parent / "airflow")
    output = subprocess.DEVNULL if quiet else None
    (settings.home / "airflow").mkdir(parents=True, exist_ok=True)
    done = subprocess.run([airflow, *arguments], env=airflow_env(settings) | (env or {}), stdout=output, check=False)
    return done.returncode
