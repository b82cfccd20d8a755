"""The schedules on real services, with a scheduler and a worker killed, against the same changes undisturbed.

`make soak` runs it: some 20 minutes on two cores. Thirty members, three rounds, the bundled labeler.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.table_reader import query
from schemas.catalog import CATALOG
from schemas.every import COVERAGE, JUDGMENTS, LABEL_CHANGES, LABELS, RUNS
from schemas.profiles import PROFILES
from tests.soak.deployed import Deployed

pytestmark = pytest.mark.soak
SETTINGS = {
    "SEMLABEL_CANDIDATES_PER_MEMBER": "150",
    # looked at often, and dead processes noticed soon: only to wait less
    "SEMLABEL_WATCH_PROFILES_S": "2",
    "SEMLABEL_WATCH_CATALOG_S": "2",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "30",
}


def change_profiles(machine: Deployed) -> None:
    """Two members wrote a new profile."""
    for number in (3, 4):
        text = "'Ward nurse for nine years, now a baker. Licence for heavy lorries.'"
        machine.edit(PROFILES, f"member-0-00000{number}", {"profile_text": text, "profile_version": "2"})


def change_catalog(machine: Deployed) -> None:
    """An entry that is somebody's label gets another text, another one is retired."""
    rows = query(machine.settings.tables, "SELECT DISTINCT qualification_id AS id FROM labels ORDER BY id", LABELS)
    machine.edit(CATALOG, rows[0]["id"], {"text": "'sailing of tall ships'"})
    machine.edit(CATALOG, rows[1]["id"], {"status": "'retired'"})


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    """The same changes by hand, in the foreground."""
    machine = Deployed(tmp_path_factory.mktemp("undisturbed"), **SETTINGS)
    machine.semlabel("sample", "--members", "30")
    machine.semlabel("refresh", "weekly_full")
    change_profiles(machine)
    machine.semlabel("refresh", "daily_incremental")
    change_catalog(machine)
    machine.semlabel("refresh", "catalog_backfill")
    return machine


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    machine = Deployed(tmp_path_factory.mktemp("deployed"), **SETTINGS)
    machine.semlabel("sample", "--members", "30")
    machine.semlabel("deployment", "up")
    yield machine
    machine.semlabel("deployment", "down")


@pytest.fixture(scope="module")
def lived(deployed: Deployed) -> Deployed:
    """A deployment that went through a week, on its own schedules, with two deaths."""
    deployed.airflow("dags", "unpause", "weekly_full")
    wait_until_scores_are_staged(deployed)
    deployed.service("scheduler").kill()
    deployed.wait_for_run("weekly_full")

    change_profiles(deployed)
    deployed.airflow("dags", "unpause", "daily_incremental")
    publishing = deployed.wait("publication of the daily run", half_published(deployed, "daily_incremental"))
    deployed.kill_worker_of(publishing)
    deployed.wait_for_run("daily_incremental")

    deployed.airflow("dags", "unpause", "catalog_backfill")
    seen = "SELECT s.value FROM asset_state_store s JOIN asset a ON s.asset_id = a.id WHERE a.name = 'catalog'"
    deployed.wait("a first look at the catalog", lambda: deployed.ask(seen))
    deployed.wait_for_run("catalog_backfill")  # by its time: nothing has changed yet
    change_catalog(deployed)
    deployed.wait_for_run("catalog_backfill", 2)
    return deployed


def wait_until_scores_are_staged(machine: Deployed) -> None:
    staged = machine.settings.staging / "scores"
    machine.wait("scores of the first round", lambda: any(staged.rglob("data/*.parquet")))


def half_published(machine: Deployed, kind: str) -> Callable[[], Any]:
    """Look for the publishing job of a run that has written its coverage and no `published` event yet."""

    def look() -> Any:
        begun = set(rows_of(machine, f"SELECT DISTINCT run_id FROM coverage WHERE run_id LIKE '{kind}%'", COVERAGE))
        ended = set(rows_of(machine, "SELECT run_id FROM runs WHERE event = 'published'", RUNS))
        return machine.job("publish_labels") if begun - ended else None

    return look


def rows_of(machine: Deployed, sql: str, *tables: Any) -> list[Any]:
    return [tuple(row.values()) for row in query(machine.settings.tables, sql, *tables)]


LABEL_COLUMNS = "member_id, qualification_id, round(score, 4), threshold, artifact_id, catalog_version, rank, round"
KIND = "regexp_replace(run_id, '-[0-9a-f]+$', '')"


def compare(one: Deployed, other: Deployed, sql: str, *tables: Any) -> None:
    found = [sorted(rows_of(machine, sql, *tables), key=repr) for machine in (one, other)]
    assert found[0] == found[1] and found[0]


def test_the_labels_are_those_of_an_undisturbed_run(lived: Deployed, undisturbed: Deployed) -> None:
    compare(lived, undisturbed, f"SELECT {LABEL_COLUMNS} FROM labels", LABELS)


def test_every_pair_was_judged_once_and_the_same(lived: Deployed, undisturbed: Deployed) -> None:
    pairs = "SELECT scorer_id, query_hash, item_hash, count(*) FROM judgments GROUP BY 1, 2, 3"
    compare(lived, undisturbed, pairs, JUDGMENTS)


def test_each_run_found_and_changed_the_same(lived: Deployed, undisturbed: Deployed) -> None:
    covered = f"SELECT {KIND}, member_id, is_complete, judged, accepted, rounds, stop_reason FROM coverage"
    changed = f"SELECT {KIND}, member_id, qualification_id, change, reason FROM label_changes"
    compare(lived, undisturbed, covered, COVERAGE)
    compare(lived, undisturbed, changed, LABEL_CHANGES)


def test_every_run_was_published_once(lived: Deployed) -> None:
    events = f"SELECT {KIND} AS kind, count(*) FROM runs WHERE event = 'published' GROUP BY 1 ORDER BY 1"
    assert rows_of(lived, events, RUNS) == [("catalog_backfill", 2), ("daily_incremental", 1), ("weekly_full", 1)]


def test_the_backfill_ran_by_the_catalogs_new_version(lived: Deployed) -> None:
    by_time, by_catalog = lived.runs("catalog_backfill")
    assert by_time.startswith("scheduled__") and by_catalog.startswith("asset_triggered__")


def test_the_labels_were_told_once_a_run(lived: Deployed) -> None:
    sql = """SELECT e.source_dag_id, e.extra FROM asset_event e JOIN asset a ON e.asset_id = a.id
             WHERE a.name = 'labels' ORDER BY e.timestamp"""
    told = lived.ask(sql)
    assert [dag_id for dag_id, _ in told] == ["weekly_full", "daily_incremental", "catalog_backfill"]
    assert all('"labels_version"' in extra for _, extra in told)


@pytest.mark.parametrize("task_id", ["pin_inputs", "round_0.score_round", "publish_labels"])
def test_a_finished_task_can_be_cleared_and_killed_and_nothing_changes(lived: Deployed, task_id: str) -> None:
    before = {name: snapshot(lived, table) for name, table in (("labels", LABELS), ("judgments", JUDGMENTS))}
    run_id = lived.wait_for_run("weekly_full")
    lived.airflow("tasks", "clear", "weekly_full", "--yes", "--task-regex", task_id, "--downstream")
    job = lived.wait("the cleared task's job", lambda: lived.job(task_id.split(".")[-1]))
    job.kill()
    lived.wait("the run is taken up again", lambda: lived.runs("weekly_full")[run_id] == "running")
    assert lived.wait_for_run("weekly_full") == run_id
    assert {name: snapshot(lived, table) for name, table in (("labels", LABELS), ("judgments", JUDGMENTS))} == before


def test_airflows_own_backfill_of_a_date_changes_nothing(lived: Deployed) -> None:
    before, runs = snapshot(lived, LABELS), len(lived.runs("weekly_full"))
    days = ("--from-date", "2026-11-01", "--to-date", "2026-11-02")
    lived.airflow("backfill", "create", "--dag-id", "weekly_full", *days)
    lived.wait_for_run("weekly_full", runs + 1)
    assert snapshot(lived, LABELS) == before


def snapshot(machine: Deployed, table: Any) -> list[Any]:
    return sorted(rows_of(machine, f"SELECT * FROM {table.name}", table), key=repr)


def test_down_ends_what_up_started(lived: Deployed, tmp_path: Path) -> None:
    pids = [one["pid"] for one in lived.semlabel("deployment", "status", "--json")["services"]]
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    assert lived.semlabel("deployment", "down") == {"ended": True}
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert lived.semlabel("deployment", "down") == {"ended": False}
