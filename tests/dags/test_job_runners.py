"""The one map: which operator runs a job, by the deployment's settings."""

import pytest

from semlabel_dags.job_operator import JobOperator
from semlabel_dags.job_runners import RAY, SPARK, job_task


def test_every_job_is_a_process_of_its_own_by_default() -> None:
    for job in (*SPARK, *RAY, "report_run"):
        task = job_task(job, values={})
        assert type(task) is JobOperator and not task.is_inline and task.task_id == job


def test_a_foreground_airflow_runs_all_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMLABEL_JOB_RUNNER", "inline")
    monkeypatch.setenv("SEMLABEL_SPARK_JOB_RUNNER", "spark_submit")
    assert all(job_task(job, values={}).is_inline for job in (*SPARK, *RAY, "report_run"))


def test_spark_jobs_and_only_they_can_be_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    from semlabel_dags.spark_submit import SparkSubmitJob

    monkeypatch.setenv("SEMLABEL_SPARK_JOB_RUNNER", "spark_submit")
    assert all(type(job_task(job, values={})) is SparkSubmitJob for job in SPARK)
    assert type(job_task("report_run", values={})) is JobOperator


@pytest.mark.parametrize("setting", ["SEMLABEL_JOB_RUNNER", "SEMLABEL_SPARK_JOB_RUNNER"])
def test_an_unknown_runner_names_the_known_ones(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(setting, "thread")
    with pytest.raises(ValueError, match=f"{setting} is 'thread': give one of process, "):
        job_task("plan_refresh", values={})
