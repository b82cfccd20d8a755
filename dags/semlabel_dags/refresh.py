"""The steps that every refresh run has, and its rounds."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import BaseOperator, Param, TaskGroup, chain

from semlabel_dags.assets import NEW_LABELS
from semlabel_dags.callbacks import report_failure
from semlabel_dags.job_runners import job_task
from semlabel_dags.report_link import ReportLink

MAX_ROUNDS = 16  # `pin_inputs` refuses a run that would need more
ROUND_JOBS = ("build_round", "score_round", "stop_early")
DEFAULT_ARGS = {
    "owner": "semlabel",
    "retries": 2,
    "retry_delay": timedelta(seconds=30),
    "retry_exponential_backoff": 2,
    "on_failure_callback": report_failure,
}
# One run of a DAG at a time, and one that was missed or paused is caught up by the next, since a run looks at all that
# differs. Runs of different DAGs may overlap: publishing compares and swaps.
DAG_SETTINGS: dict[str, Any] = {
    "start_date": datetime(2026, 1, 1, tzinfo=UTC),
    "catchup": False,
    "max_active_runs": 1,
    "default_args": DEFAULT_ARGS,
}

# a trigger may name itself, else it is Airflow's run id
TRIGGER_ID = "{{ dag_run.conf.get('trigger_id') or run_id }}"
RECOMPUTE = {"recompute": Param(False, type="boolean", description="Score anew what is judged already.")}
RUN_ID = "{{ ti.xcom_pull(task_ids='pin_inputs')['run_id'] }}"


def refresh_steps(kind: str, *, before_spending: Sequence[BaseOperator] = ()) -> None:
    """Declare a whole run: pin, scope, retrieve, plan, rounds, publish, report.

    Args:
        before_spending: tasks between the plan and the first step that needs an engine.
    """
    spending = [*(task.task_id for task in before_spending), "start_engines", *_tasks_from(0)]
    chain(
        *plan_steps(kind, skip_at_zero=("n_rounds", spending)),
        *before_spending,
        score_members(),
        publish_labels(),
        report_run(),
    )


def plan_steps(kind: str, *, ends_run: bool = False, **planning: Any) -> list[BaseOperator]:
    """What a run does before it spends: its plan knows every pair, since the candidates are there.

    Args:
        ends_run: nothing comes after the plan.
        planning: further arguments of the task that plans.
    """
    plan = job_task("plan_refresh", values={"run_id": RUN_ID, "ends_run": str(ends_run)}, **planning)
    return [pin_inputs(kind), run_step("scope_members"), run_step("retrieve_candidates"), plan]


def pin_inputs(kind: str) -> BaseOperator:
    """Resolve the run's inputs."""
    return job_task(
        "pin_inputs",
        values={"kind": kind, "trigger_id": TRIGGER_ID, "recompute": "{{ params.get('recompute', False) }}"},
    )


def run_step(job: str, **kwargs: Any) -> BaseOperator:
    """One job of the run."""
    return job_task(job, values={"run_id": RUN_ID}, **kwargs)


def score_members() -> TaskGroup:
    """The rounds between the set-up of the run's engines and their teardown, which comes after a failed round too."""
    with TaskGroup(group_id="scoring", prefix_group_id=False) as scoring:
        start, stop = run_step("start_engines"), run_step("stop_engines")
        chain(start.as_setup(), *refresh_rounds(), stop.as_teardown(setups=start))
    return scoring


def publish_labels() -> BaseOperator:
    """Publication, although the rounds that nobody needed were skipped; tells `labels` when it changed them."""
    return run_step("publish_labels", trigger_rule="none_failed", announcement=NEW_LABELS, outlets=[NEW_LABELS.outlet])


def report_run() -> BaseOperator:
    """The report, linked from its task."""
    report = run_step("report_run", trigger_rule="none_failed")
    report.operator_extra_links = (ReportLink(),)
    return report


def refresh_rounds() -> list[TaskGroup]:
    """All rounds, one after the other; those after the last one that any member needs are skipped."""
    groups = [_round(number) for number in range(MAX_ROUNDS)]
    chain(*groups)
    return groups


def _round(number: int) -> TaskGroup:
    later = ("next_round", _tasks_from(number + 1))
    with TaskGroup(group_id=f"round_{number}") as group:
        build, score = _round_step("build_round", number), _round_step("score_round", number)
        chain(build, score, _round_step("stop_early", number, skip_at_zero=later))
    return group


def _round_step(job: str, number: int, **kwargs: Any) -> BaseOperator:
    return job_task(job, values={"run_id": RUN_ID, "round": str(number)}, **kwargs)


def _tasks_from(first_round: int) -> list[str]:
    return [f"round_{number}.{job}" for number in range(first_round, MAX_ROUNDS) for job in ROUND_JOBS]
