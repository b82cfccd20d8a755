"""What holds for every DAG: it imports, loads no engine, has a manual and an owner, and keeps the vital orders."""

import subprocess
import sys
from typing import Any

import pytest

from tests.dags.conftest import DAGS

HEAVY = ("pyspark", "ray", "torch", "transformers", "sglang", "mlflow", "deltalake", "jobs", "mis_scoring")


@pytest.fixture(scope="session")
def dags() -> dict[str, Any]:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(dag_folder=str(DAGS))
    assert bag.import_errors == {}
    return dict(bag.dags)


def test_a_dag_is_named_as_its_file(dags: dict[str, Any]) -> None:
    assert set(dags) == {path.stem for path in DAGS.glob("*.py")} and dags


def test_every_dag_has_a_manual_and_an_owner_and_one_run_at_a_time(dags: dict[str, Any]) -> None:
    for dag in dags.values():
        assert dag.doc_md and dag.doc_md.startswith("# ")
        assert dag.owner == "semlabel"
        assert dag.max_active_runs == 1 and not dag.catchup


def test_labels_are_published_after_every_round_and_a_failed_round_stops_them(dags: dict[str, Any]) -> None:
    publish = dags["weekly_full"].get_task("publish_labels")
    upstream = {task.task_id for task in publish.get_flat_relatives(upstream=True)}
    assert {f"round_{number}.stop_early" for number in range(16)} <= upstream
    assert {"pin_inputs", "plan_refresh", "retrieve_candidates"} <= upstream
    assert publish.trigger_rule == "none_failed"


def test_within_a_round_scores_come_between_building_and_stopping(dags: dict[str, Any]) -> None:
    for number in range(16):
        score = dags["weekly_full"].get_task(f"round_{number}.score_round")
        assert score.upstream_task_ids == {f"round_{number}.build_round"}
        assert score.downstream_task_ids == {f"round_{number}.stop_early"}


def test_the_dags_declare_as_many_rounds_as_pin_allows() -> None:
    from jobs.pin_inputs import MAX_ROUNDS as ALLOWED
    from semlabel_dags.refresh import MAX_ROUNDS

    assert MAX_ROUNDS == ALLOWED


@pytest.mark.parametrize("path", sorted(DAGS.glob("*.py")), ids=lambda path: path.stem)
def test_parsing_a_dag_loads_no_engine(path: Any) -> None:
    code = f"""
import runpy, sys
sys.path.insert(0, {str(DAGS)!r})
runpy.run_path({str(path)!r})
print(sorted(set(sys.modules) & {set(HEAVY)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
