"""What holds for every DAG: it imports fast, loads no engine, has a manual and an owner, and keeps the vital orders."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grimp
import pytest

from tests.dag_runs import DAGS

FILES = sorted(DAGS.glob("*.py"))
HEAVY = {"pyspark", "ray", "torch", "transformers", "sglang", "mlflow", "deltalake", "jobs", "mis_scoring"}
PRICED = ("pairs_to_score", "pairs_reused", "tokens", "gpu_seconds", "cost", "labels_that_may_change")
NO_PLAN = ("table_maintenance",)
REFRESHES = ("catalog_backfill", "daily_incremental", "weekly_full")


@pytest.fixture(scope="session")
def dags() -> dict[str, Any]:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(dag_folder=str(DAGS))
    assert bag.import_errors == {}
    return dict(bag.dags)


def test_a_dag_is_named_as_its_file(dags: dict[str, Any]) -> None:
    assert set(dags) == {path.stem for path in FILES} and dags


def test_every_dag_has_a_manual_and_an_owner_and_one_run_at_a_time(dags: dict[str, Any]) -> None:
    for dag in dags.values():
        assert dag.doc_md and dag.doc_md.startswith("# ") and "**Rerun**" in dag.doc_md
        assert dag.owner == "semlabel"
        assert dag.max_active_runs == 1 and not dag.catchup


def test_every_task_is_retried_ends_at_last_and_tells_when_it_fails(dags: dict[str, Any]) -> None:
    from semlabel_dags.callbacks import report_failure

    for dag in dags.values():
        for task in dag.tasks:
            assert task.retries == 2 and report_failure in task.on_failure_callback
            assert task.execution_timeout or task.task_id == "approve_plan"  # a person has the time that it takes


@pytest.mark.parametrize("kind", REFRESHES)
def test_labels_are_published_after_every_round_and_a_failed_round_stops_them(dags: dict[str, Any], kind: str) -> None:
    publish = dags[kind].get_task("publish_labels")
    upstream = {task.task_id for task in publish.get_flat_relatives(upstream=True)}
    assert {f"round_{number}.stop_early" for number in range(16)} <= upstream
    assert {"pin_inputs", "scope_members", "retrieve_candidates", "plan_refresh"} <= upstream
    assert publish.trigger_rule == "none_failed"


@pytest.mark.parametrize("kind", REFRESHES)
def test_a_run_is_pinned_as_the_kind_of_its_dag(dags: dict[str, Any], kind: str) -> None:
    assert dags[kind].get_task("pin_inputs").values["kind"] == kind


def test_within_a_round_scores_come_between_building_and_stopping(dags: dict[str, Any]) -> None:
    for number in range(16):
        score = dags["weekly_full"].get_task(f"round_{number}.score_round")
        assert score.upstream_task_ids == {f"round_{number}.build_round"}
        assert score.downstream_task_ids == {f"round_{number}.stop_early"}


def test_the_engines_of_a_run_are_torn_down_after_its_last_round_whatever_became_of_it(dags: dict[str, Any]) -> None:
    for kind in REFRESHES:
        start, stop = (dags[kind].get_task(name) for name in ("start_engines", "stop_engines"))
        assert start.is_setup and stop.is_teardown and not stop.on_failure_fail_dagrun
        assert "start_engines" in stop.upstream_task_ids
        assert "round_15.stop_early" in stop.upstream_task_ids
        assert stop.task_id not in dags[kind].get_task("publish_labels").upstream_task_ids


def test_what_loads_engines_runs_in_their_pool_and_nothing_else_does(dags: dict[str, Any]) -> None:
    for dag in dags.values():
        for task in dag.tasks:
            loads = task.task_id.split(".")[-1] in ("score_round", "evaluate_labeler", "gate_labeler")
            assert (task.pool == "engines") == loads, task.task_id


def test_a_backfill_spends_nothing_before_its_plan_was_shown(dags: dict[str, Any]) -> None:
    approval = dags["catalog_backfill"].get_task("approve_plan")
    assert approval.upstream_task_ids == {"plan_refresh"} and approval.ignore_downstream_trigger_rules
    assert dags["catalog_backfill"].get_task("start_engines").upstream_task_ids == {"approve_plan"}
    figures = {name: {"min": 4, "expected": 6.5, "max": 8000} for name in PRICED}
    plan = {"members": 2, "reasons": {"retired": 2}, "expected_by": {"basis": "the rounds of a run"}, **figures}
    plan |= {"stop_sample": {"members": 0}}
    asked = {"ti": SimpleNamespace(xcom_pull=lambda task_ids: plan), "params": {"approve_plan": False}}
    assert approval.execute(asked) is None
    assert "| pairs to score | 4 | 6 | 8,000 |" in approval.body and "Expected by the rounds of a run." in approval.body
    for kind in REFRESHES:
        assert dags[kind].get_task("plan_refresh").upstream_task_ids == {"retrieve_candidates"}, "every pair is known"


def test_a_rejected_plan_and_a_plan_that_nothing_follows_are_over_in_the_ledger(
    dags: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobs.ledger import append_event
    from jobs.run_ledger import read_run
    from jobs.table_admin import create_missing
    from schemas.runs import RUNS

    monkeypatch.setenv("SEMLABEL_TABLE_ROOT", str(tmp_path))
    create_missing(tmp_path, RUNS)
    append_event(tmp_path, "r", "plan_refresh", {})
    approval = dags["catalog_backfill"].get_task("approve_plan")
    assert "ledger_run_id" in approval.template_fields and "pin_inputs" in approval.ledger_run_id
    monkeypatch.setattr(approval, "ledger_run_id", "r")
    monkeypatch.setattr(approval, "skip", lambda **_: None)
    answered = {"params_input": {}, "responded_at": datetime.now(UTC), "responded_by_user": {"id": "1", "name": "op"}}
    context = {"task": approval, "ti": None}
    approval.execute_complete(context, answered | {"chosen_options": ["Approve"]})
    assert read_run(tmp_path, "r").state == "open"
    approval.execute_complete(context, answered | {"chosen_options": ["Reject"]})
    assert read_run(tmp_path, "r").state == "rejected"
    ends = {name: dag.get_task("plan_refresh").values["ends_run"] for name, dag in dags.items() if name not in NO_PLAN}
    assert ends == dict.fromkeys(REFRESHES, "False") | {"labeler_promotion": "True"}


def test_the_dags_know_the_jobs_as_the_command_line_does(dags: dict[str, Any]) -> None:
    from jobs.pin_inputs import MAX_ROUNDS as ALLOWED
    from jobs.run_job import ENGINE_JOBS, JOBS, SPARK_JOBS
    from semlabel_dags.job_runners import RAY, SPARK
    from semlabel_dags.refresh import MAX_ROUNDS

    assert ALLOWED == MAX_ROUNDS and SPARK == SPARK_JOBS and RAY == ENGINE_JOBS
    assert {task.job for dag in dags.values() for task in dag.tasks if hasattr(task, "job")} <= set(JOBS)


@pytest.mark.parametrize("kind", REFRESHES)
def test_a_dag_that_was_paused_for_weeks_catches_up_in_one_run(dags: dict[str, Any], kind: str) -> None:
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.timetables.base import DagRunInfo

    dag = DagSerialization.from_dict(DagSerialization.to_dict(dags[kind]))
    last = DagRunInfo.exact(datetime.now(UTC) - timedelta(days=30))
    missed = dag.next_dagrun_info(last_automated_run_info=last)
    following = dag.next_dagrun_info(last_automated_run_info=missed)
    assert missed.run_after <= datetime.now(UTC) < following.run_after


def test_a_dag_file_is_parsed_fast_and_loads_no_engine() -> None:
    """Each in a fork of a process that has Airflow loaded, as the dag-processor does; in CPU time: cores are shared."""
    code = f"""
import json, os, runpy, sys, time
import airflow.sdk
sys.path.insert(0, {str(DAGS)!r})
for path in sys.argv[1:]:
    if os.fork() == 0:
        started = time.process_time()
        runpy.run_path(path)
        print(json.dumps([path, time.process_time() - started, sorted(set(sys.modules) & {HEAVY!r})]))
        sys.exit()
    os.wait()
"""
    command = [sys.executable, "-c", code, *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert [path for path, _, _ in found] == [str(path) for path in FILES]
    assert not [one for one in found if one[1] >= 0.3 or one[2]]


def test_lineage_names_what_people_write_wherever_a_job_reads_it() -> None:
    from semlabel_dags.lineage import TABLES

    imports = grimp.build_graph("jobs", "schemas", cache_dir=None)
    jobs = [job for job in TABLES if job != "pin_inputs"]  # it makes all tables, and reads none of these
    for table in ("revocations", "holds", "erasures"):
        reading = {job for job in jobs if imports.chain_exists(f"jobs.{job}", f"schemas.{table}")}
        assert {job for job, (reads, _) in TABLES.items() if table in reads} == reading != set()
