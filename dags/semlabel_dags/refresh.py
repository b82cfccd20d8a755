"""The steps that every refresh run has, and its rounds."""

from datetime import timedelta

from airflow.sdk import TaskGroup, chain
from airflow.sdk.bases.operator import BaseOperator

from semlabel_dags.job_operator import JobOperator

MAX_ROUNDS = 16  # `pin_inputs` refuses a run that would need more
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


def refresh_rounds() -> list[TaskGroup]:
    """All rounds, one after the other; a round is skipped, and so are those after it, where no member is eligible."""
    groups = [_round(number) for number in range(MAX_ROUNDS)]
    chain(*groups)
    return groups


def _round(number: int) -> TaskGroup:
    eligible = ("retrieve_candidates", "members") if number == 0 else (f"round_{number - 1}.stop_early", "goes_on")
    with TaskGroup(group_id=f"round_{number}") as group:
        build = _round_step("build_round", number, only_if=_result(*eligible))
        chain(build, _round_step("score_round", number), _round_step("stop_early", number))
    return group


def _round_step(job: str, number: int, *, only_if: str = "1") -> BaseOperator:
    values = {"run_id": _RUN_ID, "round": str(number)}
    return JobOperator(task_id=job, job=job, values=values, only_if=only_if)


def _result(task_id: str, key: str) -> str:
    return f"{{{{ (ti.xcom_pull(task_ids='{task_id}') or {{}}).get('{key}', 0) }}}}"
