"""The one place that maps a job's name to how it is run.

| kind of job | by default | or |
| --- | --- | --- |
| plain | `process`: `semlabel job NAME` beside the worker | |
| Spark | `process`: the same, a client of SEMLABEL_SPARK_CONNECT_URL where one is set | `spark_submit` |
| Ray | `process`: the same, a driver of SEMLABEL_RAY_ADDRESS where one is set | `ray_job`: Ray's Jobs API |

SEMLABEL_SPARK_JOB_RUNNER says it for the Spark jobs, SEMLABEL_RAY_JOB_RUNNER for the Ray jobs;
SEMLABEL_JOB_RUNNER=inline runs all in the task's own process. They are read from the environment while a DAG is parsed,
so they are the same for dag-processor and workers. So are SEMLABEL_TASK_TIMEOUT_HOURS (2), after which a task is ended
and tried again, and SEMLABEL_LONG_TASK_TIMEOUT_HOURS (12) for the jobs that grow with the members; keep both below
SEMLABEL_RUN_IDLE_HOURS.
"""

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator

from semlabel_dags.job_operator import JobOperator

ENGINE_POOL = "engines"  # a slot a task that loads engines; `semlabel deployment up` makes it
LOADS_ENGINES = ("score_round", "evaluate_labeler", "gate_labeler")
GROWS = ("retrieve_candidates", "score_round", "evaluate_labeler")

SPARK = ("scope_members", "retrieve_candidates", "plan_refresh", "build_round", "stop_early", "publish_labels")
RAY = ("start_engines", "score_round", "stop_engines", "end_orphan_engines")

_RUNNERS = {
    "SEMLABEL_JOB_RUNNER": ("process", "inline"),
    "SEMLABEL_SPARK_JOB_RUNNER": ("process", "spark_submit"),
    "SEMLABEL_RAY_JOB_RUNNER": ("process", "ray_job"),
}
_SHORT, _LONG = "SEMLABEL_TASK_TIMEOUT_HOURS", "SEMLABEL_LONG_TASK_TIMEOUT_HOURS"
_TIMEOUT_HOURS = {_SHORT: "2", _LONG: "12"}


def job_task(job: str, *, task_id: str | None = None, values: Mapping[str, str], **kwargs: Any) -> BaseOperator:
    """Return the task that runs a job; further arguments are those of `JobTask` and of any operator.

    Raises:
        ValueError: a setting names no runner (the known ones are listed) or no time.
    """
    kwargs |= {"task_id": task_id or job, "job": job, "values": values}
    kwargs.setdefault("execution_timeout", _timeout(_LONG if job in GROWS else _SHORT))
    if job in LOADS_ENGINES:
        kwargs.setdefault("pool", ENGINE_POOL)
    how = _runner("SEMLABEL_JOB_RUNNER")
    if how == "inline":
        return JobOperator(is_inline=True, **kwargs)
    if job in SPARK and _runner("SEMLABEL_SPARK_JOB_RUNNER") == "spark_submit":
        from semlabel_dags.spark_submit import SparkSubmitJob

        return SparkSubmitJob(**kwargs)
    if job in RAY and _runner("SEMLABEL_RAY_JOB_RUNNER") == "ray_job":
        from semlabel_dags.ray_job_task import RayJobTask

        return RayJobTask(**kwargs)
    return JobOperator(**kwargs)


def _runner(setting: str) -> str:
    known = _RUNNERS[setting]
    how = os.environ.get(setting, known[0])
    if how not in known:
        raise ValueError(f"{setting} is {how!r}: give one of {', '.join(known)}")
    return how


def _timeout(setting: str) -> timedelta:
    text = os.environ.get(setting, _TIMEOUT_HOURS[setting])
    try:
        found = timedelta(hours=float(text))
    except (ValueError, OverflowError):
        found = timedelta(0)
    if found <= timedelta(0):
        raise ValueError(f"{setting} is {text!r}: give hours, more than 0")
    return found
