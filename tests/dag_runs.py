"""Runs of the DAGs inside a test's process. Airflow reads its home when it is first imported: this sets it before."""

import os
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

DAGS = Path(__file__).resolve().parents[1] / "dags"

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="semlabel-airflow-")
os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = str(DAGS)
os.environ["AIRFLOW__CORE__PLUGINS_FOLDER"] = str(DAGS / "plugins")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__USAGE_DATA_COLLECTION__ENABLED"] = "False"


def make_database() -> None:
    """Make Airflow's database in that home."""
    from airflow.utils.db import initdb

    initdb()


def run_dag(dag_id: str, **conf: Any) -> tuple[str, dict[str, str], Any]:
    """Run a DAG to its end; returns its state, its tasks' states, and Airflow's run."""
    from airflow.dag_processing.dagbag import DagBag

    dag = DagBag(dag_folder=str(DAGS / f"{dag_id}.py")).dags[dag_id]
    for task in dag.tasks:
        task.retry_delay, task.retry_exponential_backoff = timedelta(0), 0
    run = dag.test(run_conf=conf)
    return str(run.state), {ti.task_id: str(ti.state) for ti in run.get_task_instances()}, run
