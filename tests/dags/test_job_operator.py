"""How a task runs its job: in a process of its own or inline, with the same result and the same failures."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import AssetAlias
from airflow.sdk.exceptions import AirflowException, AirflowFailException, DownstreamTasksSkipped

from semlabel_dags.assets import LABELS, NEW_LABELS
from semlabel_dags.job_operator import JobOperator
from semlabel_dags.job_process import JobProcess


class TaskInstance:
    """What the operator asks of Airflow's own."""

    try_number = 1

    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


class DagRun:
    run_after = datetime(2026, 1, 4, 2, tzinfo=UTC)


class OutletEvents(dict[Any, Any]):
    """As Airflow's: events are added to an outlet."""

    def __missing__(self, outlet: Any) -> Any:
        self[outlet] = Told()
        return self[outlet]


class Told(list[Any]):
    def add(self, asset: Any, extra: dict[str, Any]) -> None:
        self.append((asset, extra))


@pytest.fixture(params=["process", "inline"])
def is_inline(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bool:
    monkeypatch.setenv("SEMLABEL_HOME", str(tmp_path))
    return bool(request.param == "inline")


def execute(operator: JobOperator, ti: TaskInstance | None = None, events: OutletEvents | None = None) -> Any:
    return operator.execute({"ti": ti or TaskInstance(), "dag_run": DagRun(), "outlet_events": events})


def test_a_failure_that_a_rerun_would_repeat_is_not_retried_and_says_why(is_inline: bool) -> None:
    values = {"run_id": "nothing"}
    with pytest.raises(AirflowFailException, match="report_run: something needed is missing: No table runs under"):
        execute(JobOperator(task_id="t", job="report_run", values=values, is_inline=is_inline))


def test_a_wrong_parameter_is_bad_input(is_inline: bool) -> None:
    with pytest.raises(AirflowFailException, match="report_run: bad input"):
        execute(JobOperator(task_id="t", job="report_run", values={"colour": "red"}, is_inline=is_inline))


def failing(error: Exception) -> Any:
    def run(*_: Any, **__: Any) -> None:
        raise error

    return run


def test_an_engine_that_failed_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs import run_job
    from mis_scoring.core.errors import EngineError

    monkeypatch.setattr(run_job, "run_job", failing(EngineError("the canary saw a leak")))
    with pytest.raises(AirflowException, match="exit code 5: the canary saw a leak") as raised:
        execute(JobOperator(task_id="t", job="score_round", values={}, is_inline=True))
    assert not isinstance(raised.value, AirflowFailException)


def test_an_error_of_the_machine_is_told_apart_from_a_check_that_did_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobs import cli, run_job

    monkeypatch.setattr(run_job, "run_job", failing(ConnectionRefusedError("the Connect server is gone")))
    monkeypatch.setattr(sys, "argv", ["semlabel", "job", "report_run"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 70 and "the Connect server is gone" in capsys.readouterr().err


@pytest.mark.parametrize("exit_code", [5, 70, -9])
def test_engine_machine_and_killed_process_are_retried(exit_code: int) -> None:
    with pytest.raises(AirflowException) as raised:
        JobOperator(task_id="t", job="score_round", values={}).fail(exit_code, "gone")
    assert not isinstance(raised.value, AirflowFailException)


def test_a_job_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = f"""
import sys
from semlabel_dags.job_process import JobProcess
process = JobProcess("x", {{}})
sleep = "import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
process._command = [sys.executable, "-c", sleep]
process.run()
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    task = subprocess.Popen([sys.executable, "-c", program], env=env)
    job = wait_for(lambda: int(pid_file.read_text()) if pid_file.exists() and pid_file.read_text() else None)
    task.send_signal(signal.SIGKILL)
    task.wait()
    assert wait_for(lambda: not is_running(job))


def test_a_killed_task_ends_its_job(tmp_path: Path) -> None:
    process = JobProcess("x", {})
    ready = tmp_path / "ready"
    code = f"import time; open({str(ready)!r}, 'w').close(); time.sleep(600)"
    process._command = [sys.executable, "-c", code]
    import threading

    ended: list[tuple[int, Any]] = []
    runner = threading.Thread(target=lambda: ended.append(process.run()))
    runner.start()
    wait_for(ready.exists)
    process.end()
    runner.join()
    assert ended == [(-signal.SIGTERM, None)]


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().split()[2] != "Z"


def wait_for(found: Any, within_s: float = 30) -> Any:
    until = time.monotonic() + within_s
    while not (value := found()):
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)
    return value


@pytest.mark.parametrize("goes_on", [0, 3])
def test_where_nobody_goes_on_the_later_tasks_are_skipped_and_the_result_is_kept(
    goes_on: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobs import run_job

    monkeypatch.setattr(run_job, "run_job", lambda *_, **__: {"goes_on": goes_on})
    skip = ("goes_on", ["later"])
    operator = JobOperator(task_id="t", job="stop_early", values={}, is_inline=True, skip_at_zero=skip)
    ti = TaskInstance()
    if goes_on:
        assert execute(operator, ti) == {"goes_on": 3}
    else:
        with pytest.raises(DownstreamTasksSkipped) as skipped:
            execute(operator, ti)
        assert skipped.value.tasks == ["later"] and ti.pushed == {"return_value": {"goes_on": 0}}


@pytest.mark.parametrize("version", [None, 7])
def test_labels_are_told_with_their_version_and_only_when_they_changed(
    version: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobs import run_job

    result = {"labels_version": version, "changes": {"added": 2}, "members_published": 4}
    monkeypatch.setattr(run_job, "run_job", lambda *_, **__: result)
    values = {"run_id": "weekly_full-1"}
    operator = JobOperator(task_id="t", job="publish_labels", values=values, is_inline=True, announcement=NEW_LABELS)
    events = OutletEvents()
    execute(operator, events=events)
    extra = {"run_id": "weekly_full-1", "labels_version": 7, "changes": {"added": 2}}
    assert events == ({} if version is None else {AssetAlias("labels-changed"): [(LABELS, extra)]})
