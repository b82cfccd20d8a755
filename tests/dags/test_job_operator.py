"""How a task runs its job: in a process of its own or inline, with the same result and the same failures."""

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, DownstreamTasksSkipped

from semlabel_dags.job_operator import JobOperator


class TaskInstance:
    """What the operator asks of Airflow's own."""

    try_number = 1

    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


@pytest.fixture(params=["process", "inline"])
def runner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setenv("SEMLABEL_JOB_RUNNER", request.param)
    monkeypatch.setenv("SEMLABEL_HOME", str(tmp_path))
    return str(request.param)


def execute(operator: JobOperator) -> Any:
    return operator.execute({"ti": TaskInstance()})


@pytest.mark.usefixtures("runner")
def test_a_failure_that_a_rerun_would_repeat_is_not_retried() -> None:
    with pytest.raises(AirflowFailException, match="report_run: something needed is missing"):
        execute(JobOperator(task_id="t", job="report_run", values={"run_id": "nothing"}))


@pytest.mark.usefixtures("runner")
def test_a_wrong_parameter_is_bad_input() -> None:
    with pytest.raises(AirflowFailException, match="report_run: bad input"):
        execute(JobOperator(task_id="t", job="report_run", values={"colour": "red"}))


def test_an_engine_that_failed_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs import run_job
    from mis_scoring.core.errors import EngineError

    def fail(*_: Any, **__: Any) -> None:
        raise EngineError("the canary saw a leak")

    monkeypatch.setenv("SEMLABEL_JOB_RUNNER", "inline")
    monkeypatch.setattr(run_job, "run_job", fail)
    with pytest.raises(AirflowException, match="exit code 5: the canary saw a leak") as raised:
        execute(JobOperator(task_id="t", job="score_round", values={}))
    assert not isinstance(raised.value, AirflowFailException)


def test_an_unknown_runner_names_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMLABEL_JOB_RUNNER", "thread")
    with pytest.raises(AirflowFailException, match="'thread': give one of process, inline"):
        execute(JobOperator(task_id="t", job="report_run", values={}))


@pytest.mark.parametrize("goes_on", [0, 3])
def test_where_nobody_goes_on_the_later_tasks_are_skipped_and_the_result_is_kept(
    goes_on: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobs import run_job

    monkeypatch.setenv("SEMLABEL_JOB_RUNNER", "inline")
    monkeypatch.setattr(run_job, "run_job", lambda *_, **__: {"goes_on": goes_on})
    operator = JobOperator(task_id="t", job="stop_early", values={}, skip_at_zero=("goes_on", ["later"]))
    ti = TaskInstance()
    if goes_on:
        assert operator.execute({"ti": ti}) == {"goes_on": 3}
    else:
        with pytest.raises(DownstreamTasksSkipped) as skipped:
            operator.execute({"ti": ti})
        assert skipped.value.tasks == ["later"] and ti.pushed == {"return_value": {"goes_on": 0}}
