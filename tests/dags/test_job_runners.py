"""The one map: which operator runs a job, by the deployment's settings."""

from datetime import timedelta

import pytest
from airflow.sdk.exceptions import AirflowFailException

from semlabel_dags.job_operator import JobOperator
from semlabel_dags.job_runners import RAY, SPARK, job_task


def test_every_job_is_a_process_of_its_own_by_default() -> None:
    for job in (*SPARK, *RAY, "report_run"):
        task = job_task(job, values={})
        assert type(task) is JobOperator and not task.is_inline and task.task_id == job


def test_a_foreground_airflow_runs_all_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMLABEL_JOB_RUNNER", "inline")
    monkeypatch.setenv("SEMLABEL_SPARK_JOB_RUNNER", "spark_submit")
    monkeypatch.setenv("SEMLABEL_RAY_JOB_RUNNER", "ray_job")
    assert all(job_task(job, values={}).is_inline for job in (*SPARK, *RAY, "report_run"))


def test_spark_jobs_and_only_they_can_be_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    from semlabel_dags.spark_submit import SparkSubmitJob

    monkeypatch.setenv("SEMLABEL_SPARK_JOB_RUNNER", "spark_submit")
    assert all(type(job_task(job, values={})) is SparkSubmitJob for job in SPARK)
    assert type(job_task("report_run", values={})) is JobOperator


def test_ray_jobs_and_only_they_can_go_to_the_cluster_each_under_a_name_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from semlabel_dags.ray_job_task import RayJobTask

    monkeypatch.setenv("SEMLABEL_RAY_JOB_RUNNER", "ray_job")
    assert all(type(job_task(job, values={})) is RayJobTask for job in RAY)
    assert type(job_task("report_run", values={})) is JobOperator
    score = job_task("score_round", values={"run_id": "weekly_full-1", "round": "2"})
    assert score.submission_id == "score_round-weekly_full-1-2" and score.job_timeout == score.execution_timeout
    assert score.entrypoint.endswith(" --set run_id=weekly_full-1 --set round=2")


def test_a_job_of_the_cluster_hands_its_result_on_as_any_other() -> None:
    from semlabel_dags.ray_job_task import RayJobTask

    task = RayJobTask(task_id="t", job="score_round", values={"run_id": "r"}, execution_timeout=timedelta(hours=1))
    ended = {"name": "j-1", "status": "SUCCEEDED", "exit_code": 0, "message": "", "result": {"scored": 8}}
    assert task.finish({}, ended) == {"scored": 8} == task.result
    with pytest.raises(AirflowFailException, match="score_round: bad input: j-1: FAILED: no such round"):
        task.finish({}, ended | {"status": "FAILED", "exit_code": 3, "result": {"error": "no such round"}})


@pytest.mark.parametrize("setting", ["SEMLABEL_JOB_RUNNER", "SEMLABEL_SPARK_JOB_RUNNER", "SEMLABEL_RAY_JOB_RUNNER"])
def test_an_unknown_runner_names_the_known_ones(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(setting, "thread")
    with pytest.raises(ValueError, match=f"{setting} is 'thread': give one of process, "):
        for job in ("plan_refresh", "score_round"):
            job_task(job, values={})


def test_the_time_outs_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def hours(job: str) -> float:
        return job_task(job, values={}).execution_timeout / timedelta(hours=1)

    assert (hours("plan_refresh"), hours("retrieve_candidates"), hours("score_round")) == (2, 12, 12)
    monkeypatch.setenv("SEMLABEL_TASK_TIMEOUT_HOURS", "0.5")
    monkeypatch.setenv("SEMLABEL_LONG_TASK_TIMEOUT_HOURS", "30")
    monkeypatch.setenv("SEMLABEL_RAY_JOB_RUNNER", "ray_job")
    assert (hours("plan_refresh"), hours("retrieve_candidates")) == (0.5, 30)
    assert job_task("score_round", values={}).job_timeout == timedelta(hours=30)
    for wrong in ("0", "-1", "two", "nan", "inf"):
        monkeypatch.setenv("SEMLABEL_TASK_TIMEOUT_HOURS", wrong)
        with pytest.raises(ValueError, match=r"SEMLABEL_TASK_TIMEOUT_HOURS is .* give hours"):
            job_task("plan_refresh", values={})
