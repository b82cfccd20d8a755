"""Airflow's settings where semlabel starts it: everything under one home, quiet, lineage events to a file."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from jobs.settings import Settings

# how long to wait where another process writes: SQLite's own 5 s fail a command on a machine that is busy
_LOCKED_S = 60


def airflow_env(settings: Settings, home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of an Airflow process whose home is this folder.

    Args:
        more: what else it is to have, before the defaults. Values that are set already win over both: a real
            deployment configures Airflow itself.
    """
    lineage = {"type": "file", "log_file_path": str(settings.lineage / "events.jsonl"), "append": True}
    connection, master = spark_connection(settings)
    own = {
        connection: master,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(settings.dags_dir.resolve()),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(settings.dags_dir.resolve() / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db?timeout={_LOCKED_S}",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        # its default forks the task's process, in which delta-rs cannot read a table
        "AIRFLOW__OPENLINEAGE__EXECUTE_IN_THREAD": "True",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": f"semlabel-{settings.environment}",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(lineage),
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "10",
        "PYTHONWARNINGS": "ignore",
    }
    # the DAGs name their shared folder, and the jobs, as packages of this checkout
    path = os.pathsep.join(filter(None, [str(settings.dags_dir), os.environ.get("PYTHONPATH", "")]))
    return own | dict(more or {}) | dict(os.environ) | {"PYTHONPATH": path}


def spark_connection(settings: Settings) -> tuple[str, str]:
    """Return the variable, and its value, that tells Airflow's Spark provider where spark-submit submits to."""
    return "AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": settings.spark_master})


def foreground_home(settings: Settings) -> Path:
    """The home of `semlabel refresh`; apart from the deployment's, whose scheduler would take the same run up."""
    return (settings.home / "airflow").resolve()


def migrate(settings: Settings) -> None:
    """Make the foreground's database on first use."""
    if not (foreground_home(settings) / "airflow.db").exists():
        subprocess.run(airflow_command("db", "migrate"), env=_env(settings), stdout=subprocess.DEVNULL, check=False)


@contextmanager
def started_airflow(settings: Settings, *arguments: str, env: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the foreground's `airflow`, yield its process, and end it if the block fails."""
    process = subprocess.Popen(airflow_command(*arguments), env=_env(settings) | dict(env))
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def airflow_command(*arguments: str) -> list[str]:
    """Return the command line of this environment's `airflow`."""
    return [str(Path(sys.executable).parent / "airflow"), *arguments]


def _env(settings: Settings) -> dict[str, str]:
    home = foreground_home(settings)
    for folder in (home, settings.lineage):
        folder.mkdir(parents=True, exist_ok=True)
    return airflow_env(settings, home)
