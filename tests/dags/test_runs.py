"""Whole runs of the DAGs through Airflow's own scheduling, with jobs that only say what they would have found."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from mis_scoring.core.errors import EngineError
from tests.dag_runs import run_dag

PRICED = ("pairs_to_score", "pairs_reused", "tokens", "gpu_seconds", "cost", "labels_that_may_change")
FIGURES = {name: {"min": 4, "expected": 6.5, "max": 8} for name in PRICED}
Job = Callable[[dict[str, str], int], dict[str, Any]]
RESULTS: dict[str, Any] = {
    "pin_inputs": {"run_id": "a-run"},
    "scope_members": {"members": 2},
    "plan_refresh": {"members": 2, "reasons": {}, "n_rounds": 1, "expected_by": {"basis": "a test"}, **FIGURES}
    | {"stop_sample": {"members": 0}},
    "retrieve_candidates": {"members": 2},
    "start_engines": {"engines_ended": 0},
    "stop_engines": {"engines_ended": 1},
    "build_round": {"members": 2},
    "score_round": {"scored": 8},
    "stop_early": {"next_round": 0},
    "publish_labels": {"labels_version": 3, "changes": {"added": 1}},
    "report_run": {"run_id": "a-run"},
    "maintain_tables": {"run_id": "table_maintenance-1"},
    "end_orphan_engines": {"engines_ended": 0},
    "evaluate_labeler": {"run_id": "a-promotion", "version": "7"},
    "gate_labeler": {"version": "7"},
    "promote_labeler": {"version": "7", "moved_to": "7", "artifact_id": "abc", "previous_version": "6"},
}


class Jobs:
    """What the jobs do in a test: return a result, raise an error, or as a function says; and who asked for what."""

    def __init__(self) -> None:
        self.results = deepcopy(RESULTS)
        self.asked: list[tuple[str, dict[str, str], int]] = []

    def run(self, name: str, values: dict[str, str], _settings: Any, *, attempt: int, **_: Any) -> Any:
        self.asked.append((name, values, attempt))
        result = self.results[name]
        if callable(result):
            result = result(values, attempt)
        if isinstance(result, Exception):
            raise result
        return result

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.asked]


@pytest.fixture
def jobs(database: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    from jobs import run_job
    from semlabel_dags import refresh

    jobs = Jobs()
    monkeypatch.setattr(refresh, "MAX_ROUNDS", 3)  # a round that cannot run costs Airflow's test loop three seconds
    monkeypatch.setenv("SEMLABEL_JOB_RUNNER", "inline")
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__DISABLED", "True")
    monkeypatch.setattr(run_job, "run_job", jobs.run)
    yield jobs


def told_of(asset: str) -> list[Any]:
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        events = select(AssetEvent).join(AssetModel, AssetEvent.asset_id == AssetModel.id)
        return [event.extra for event in session.scalars(events.where(AssetModel.name == asset))]


def test_the_rounds_that_nobody_needs_are_skipped_and_the_labels_are_told(jobs: Jobs) -> None:
    before = told_of("labels")
    jobs.results["stop_early"] = lambda values, _: {"next_round": 1 if values["round"] == "0" else 0}
    state, tasks, run = run_dag("daily_incremental")
    assert state == "success"
    for number in range(3):
        assert tasks[f"round_{number}.score_round"] == ("success" if number < 2 else "skipped")
    assert tasks["publish_labels"] == tasks["report_run"] == tasks["stop_engines"] == "success"
    assert told_of("labels")[len(before) :] == [{"run_id": "a-run", "labels_version": 3, "changes": {"added": 1}}]
    pinned = {"kind": "daily_incremental", "trigger_id": run.run_id, "recompute": "False"}
    assert jobs.asked[0] == ("pin_inputs", pinned, 1)


def test_a_day_without_a_change_scores_nothing_and_tells_nothing(jobs: Jobs) -> None:
    before = told_of("labels")
    jobs.results["plan_refresh"] |= {"members": 0, "n_rounds": 0}
    jobs.results |= {"publish_labels": {"labels_version": None, "changes": {}}}
    state, _, _ = run_dag("daily_incremental", trigger_id="tuesday", recompute=True)
    assert state == "success" and told_of("labels") == before
    planned = ["pin_inputs", "scope_members", "retrieve_candidates", "plan_refresh"]
    assert jobs.names == [*planned, "publish_labels", "report_run"]
    assert jobs.asked[0][1] == {"kind": "daily_incremental", "trigger_id": "tuesday", "recompute": "True"}


def test_a_held_run_fails_at_once_with_what_to_do(jobs: Jobs, caplog: pytest.LogCaptureFixture) -> None:
    from jobs.errors import CheckFailedError

    jobs.results["publish_labels"] = CheckFailedError("a-run is held: `semlabel approve a-run`")
    state, tasks, _ = run_dag("weekly_full")
    assert state == "failed" and jobs.names.count("publish_labels") == 1
    assert tasks["publish_labels"] == "failed" and tasks["report_run"] == "upstream_failed"
    assert "publish_labels failed at try 1: publish_labels: a check did not hold: a-run is held" in caplog.text


def test_an_engine_that_fails_once_is_tried_again(jobs: Jobs) -> None:
    def score(_: dict[str, str], attempt: int) -> Any:
        return EngineError("out of memory") if attempt == 1 else {"scored": 8}

    jobs.results["score_round"] = score
    state, _, _ = run_dag("weekly_full")
    assert state == "success" and [asked[2] for asked in jobs.asked if asked[0] == "score_round"] == [1, 2]


def test_an_engine_that_keeps_failing_leaves_the_labels_alone(jobs: Jobs) -> None:
    jobs.results["score_round"] = EngineError("no GPU")
    state, tasks, _ = run_dag("weekly_full")
    assert state == "failed" and jobs.names.count("score_round") == 3
    assert tasks["publish_labels"] == "upstream_failed" and jobs.names[-1] == "stop_engines"


def test_the_report_is_linked_from_its_task(jobs: Jobs) -> None:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    _, _, run = run_dag("weekly_full")
    with create_session() as session:
        links = select(XComModel.value).where(XComModel.run_id == run.run_id, XComModel.key == "_link_ReportLink")
        assert [value for value in session.scalars(links)] == ["/semlabel/reports/weekly_full/a-run"]


def test_a_backfill_that_nobody_wants_to_approve_goes_on_by_itself(jobs: Jobs) -> None:
    state, tasks, _ = run_dag("catalog_backfill")
    assert state == "success" and tasks["approve_plan"] == "success"


def test_a_promoted_labeler_is_told_and_its_next_run_planned_only(jobs: Jobs) -> None:
    before = told_of("labeler")
    state, _, _ = run_dag("labeler_promotion", labeler="challenger")
    assert state == "success"
    planned = ["pin_inputs", "scope_members", "retrieve_candidates", "plan_refresh"]
    assert jobs.names == ["evaluate_labeler", "gate_labeler", "promote_labeler", *planned]
    assert jobs.asked[2][1] == {"run_id": "a-promotion", "version": "7"}
    assert told_of("labeler")[len(before) :] == [{"version": "7", "artifact_id": "abc", "previous_version": "6"}]


def test_a_champion_that_is_promoted_again_is_not_told(jobs: Jobs) -> None:
    before = told_of("labeler")
    jobs.results["promote_labeler"] |= {"moved_to": None}
    state, _, _ = run_dag("labeler_promotion", labeler="challenger")
    assert state == "success" and told_of("labeler") == before


def test_a_labeler_that_fails_the_gate_is_not_promoted(jobs: Jobs) -> None:
    from jobs.errors import CheckFailedError

    jobs.results["gate_labeler"] = CheckFailedError("version 7 does not pass the gate: F1 is 0.5, limit >= 0.9")
    state, _, _ = run_dag("labeler_promotion")
    assert state == "failed" and jobs.names == ["evaluate_labeler", "gate_labeler"]


def test_maintenance_ends_engines_once_it_has_failed_the_runs_that_died(jobs: Jobs) -> None:
    state, _, _ = run_dag("table_maintenance")
    assert state == "success" and jobs.names == ["maintain_tables", "end_orphan_engines"]
    assert jobs.asked[1][1] == {"run_id": "table_maintenance-1"}
