"""A deployment of the tests' own: started by its command line, watched through Airflow's database, killed by pid."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from deltalake import DeltaTable
from sqlalchemy import NullPool, create_engine, text

from jobs.settings import Settings
from jobs.table_path import table_path
from schemas.table import Table

_POLL_S = 0.5


class Deployed:
    """A home folder, and `semlabel` on it."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.settings = Settings(home=home, _env_file=None)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SEMLABEL_", "AIRFLOW_"))}
        ports = dict(zip(("AIRFLOW", "METRICS", "MLFLOW", "RAY", "SPARK_CONNECT"), free_ports(5), strict=True))
        self.env = kept | {f"SEMLABEL_{name}_PORT": str(port) for name, port in ports.items()}
        self.env |= {"SEMLABEL_HOME": str(home), **settings}

    def semlabel(self, *arguments: str) -> Any:
        command = [sys.executable, "-m", "jobs.cli", *arguments]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout.startswith(("{", "[")) else done.stdout

    def airflow(self, *arguments: str) -> str:
        return str(self.semlabel("deployment", "airflow", *arguments))

    def edit(self, table: Table, key: str, changes: dict[str, str]) -> None:
        """Change one row; values are SQL."""
        DeltaTable(table_path(self.settings.tables, table)).update(
            updates=changes, predicate=f"{table.key[0]} = '{key}'"
        )

    # what Airflow knows

    def ask(self, sql: str, **values: Any) -> list[Any]:
        own = f"sqlite:///{self.settings.deployment / 'airflow' / 'airflow.db'}"
        engine = create_engine(self.env.get("SEMLABEL_AIRFLOW_DB", own), poolclass=NullPool)
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(sql), values)]

    def runs(self, dag_id: str) -> dict[str, str]:
        sql = "SELECT run_id, state FROM dag_run WHERE dag_id = :dag_id ORDER BY id"
        return dict(self.ask(sql, dag_id=dag_id))

    def wait(self, what: str, found: Callable[[], Any], *, within_s: float = 1800) -> Any:
        until = time.monotonic() + within_s
        while not (value := found()):
            assert time.monotonic() < until, f"{what}: not within {within_s} s"
            time.sleep(_POLL_S)
        return value

    def wait_for_run(self, dag_id: str, number: int = 1) -> str:
        """Wait until the DAG has had this many runs and the last one is over; it must have ended well."""

        def over() -> Any:
            runs = list(self.runs(dag_id).items())
            return len(runs) >= number and runs[-1][1] in ("success", "failed") and runs[-1]

        run_id, state = self.wait(f"run {number} of {dag_id}", over)
        assert state == "success", (dag_id, run_id, self.tasks(dag_id, run_id))
        return str(run_id)

    def tasks(self, dag_id: str, run_id: str) -> list[Any]:
        sql = """SELECT task_id, state, try_number, queued_dttm, start_date, end_date FROM task_instance
                 WHERE dag_id = :dag_id AND run_id = :run_id AND state <> 'skipped' ORDER BY start_date"""
        return self.ask(sql, dag_id=dag_id, run_id=run_id)

    # its processes

    def service(self, name: str) -> psutil.Process:
        status = self.semlabel("deployment", "status", "--json")
        return psutil.Process(next(one["pid"] for one in status["services"] if one["name"] == name))

    def job(self, name: str) -> psutil.Process | None:
        """The process of a running job of this deployment."""
        for process in psutil.process_iter():
            try:
                line = process.cmdline()
                if "jobs.cli" in line and name in line and process.environ().get("SEMLABEL_HOME") == str(self.home):
                    return process
            except psutil.Error:
                continue
        return None

    def kill_worker_of(self, job: psutil.Process) -> None:
        """SIGKILL the job, its task's process and the worker above it, as a machine that dies would."""
        for process in (job.parent().parent(), job.parent(), job):  # type: ignore[union-attr]
            process.send_signal(signal.SIGKILL)  # type: ignore[union-attr]


def free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports
