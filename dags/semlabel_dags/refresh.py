"""The steps that every refresh run has, and its rounds."""

from datetime import timedelta
from typing import Any

from airflow.sdk import TaskGroup, chain

from semlabel_dags.job_operator import JobOperator

MAX_ROUNDS = 16  # `pin_inputs` refuses a run that would need more
ROUND_JOBS = ("build_round", "score_round", "stop_early")
DEFAULT_ARGS = {
    "owner": "semlabel",
    "retries": 2,
    "retry_delay": timedelta(seconds=30),
    "retry_exponential_backoff": True,
}

_RUN_ID = "{{ ti.xcom_pull(task_ids='pin_inputs')['run_id'] }}"


def pin_inputs(kind: str) -> JobOperator:
    """Resolve the run's inputs. A trigger may name itself (`trigger_id` in its conf), else it is Airflow's run id."""
    trigger_id = "{{ dag_run.conf.get('trigger_id') or run_id }}"
    return JobOperator(task_id="pin_inputs", job="pin_inputs", values={"kind": kind, "trigger_id": trigger_id})


def run_step(job: str, *, is_after_rounds: bool = False) -> JobOperator:
    """One job of the run. After the rounds it runs although the rounds that nobody needed were skipped."""
    rule = "none_failed" if is_after_rounds else "all_success"
    return JobOperator(task_id=job, job=job, values={"run_id": _RUN_ID}, trigger_rule=rule)


def retrieve_candidates() -> JobOperator:
    """Retrieval; without a member no round is needed."""
    job = "retrieve_candidates"
    return JobOperator(task_id=job, job=job, values={"run_id": _RUN_ID}, skip_at_zero=("members", _tasks_from(0)))


def refresh_rounds() -> list[TaskGroup]:
    """All rounds, one after the other; those after the last one that any member needs are skipped."""
    groups = [_round(number) for number in range(MAX_ROUNDS)]
    chain(*groups)
    return groups


def _round(number: int) -> TaskGroup:
    later = ("goes_on", _tasks_from(number + 1))
    with TaskGroup(group_id=f"round_{number}") as group:
        build, score = _round_step("build_round", number), _round_step("score_round", number)
        chain(build, score, _round_step("stop_early", number, skip_at_zero=later))
    return group


def _round_step(job: str, number: int, **kwargs: Any) -> JobOperator:
    return JobOperator(task_id=job, job=job, values={"run_id": _RUN_ID, "round": str(number)}, **kwargs)


def _tasks_from(first_round: int) -> list[str]:
    return [f"round_{number}.{job}" for number in range(first_round, MAX_ROUNDS) for job in ROUND_JOBS]
