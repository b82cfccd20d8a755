"""Table maintenance on real Delta tables: what is past its time goes, and what a run or the audit may read stays."""

import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pydantic import ValidationError

from jobs.list_runs import list_runs, show_run
from jobs.maintain_tables import Params, fail_idle_runs, run
from jobs.run_job import run_job
from jobs.run_ledger import read_run
from jobs.settings import Settings
from jobs.table_path import table_path
from jobs.table_reader import query
from mis_scoring.ray_data.staging import scores_folder
from schemas.candidates import CANDIDATES
from schemas.coverage import COVERAGE
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.judgments import JUDGMENTS
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.runs import RUNS
from schemas.table import Table
from schemas.texts import TEXTS
from tests.published_run import append_events, make_tables, put, write_run
from tests.world import settings_under

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = settings_under(tmp_path)
    make_tables(made.tables)
    return made


def maintain(settings: Settings) -> dict[str, Any]:
    return run(settings, Params(trigger_id="a test"))


def run_ids(settings: Settings, table: Table) -> set[str]:
    return {row["run_id"] for row in query(settings.tables, f"SELECT DISTINCT run_id FROM {table.name}", table)}


def files_on_disk(settings: Settings, table: Table) -> int:
    return len(list(Path(table_path(settings.tables, table)).rglob("*.parquet")))


def grow_old(settings: Settings, *tables: Table) -> None:
    """Let files look older than their retention: a vacuum goes by when they were written and when removed."""
    old = (NOW - 30 * DAY).timestamp()
    for table in tables:
        for path in Path(table_path(settings.tables, table)).rglob("*"):
            if path.suffix == ".json":
                told = f'"deletionTimestamp":{int(old * 1000)}'
                path.write_text(re.sub(r'"deletionTimestamp":\d+', told, path.read_text()))
            os.utime(path, (old, old))


def overwrite_profiles(settings: Settings) -> None:
    rows = pa.Table.from_pylist([{"member_id": "ann", "profile_text": "new"}], PROFILES.columns)
    write_deltalake(table_path(settings.tables, PROFILES), rows, mode="overwrite")


def test_rows_of_a_run_go_when_their_retention_has_passed(settings: Settings) -> None:
    for name, days in (("old", 100), ("young", 80)):
        write_run(settings.tables, name, at=NOW - days * DAY)
        put(
            settings.tables,
            MEMBER_ROUNDS,
            [{"run_id": name, "round": 0, "member_id": "ann", "query_hash": "h"} | ROUND],
        )
    counts = maintain(settings)
    assert counts["runs_expired"] == {"candidates": 1, "member_rounds": 2, "round_outcomes": 1, "quarantine": 1}
    assert run_ids(settings, CANDIDATES) == {"young"} and run_ids(settings, MEMBER_ROUNDS) == set()
    assert run_ids(settings, COVERAGE) == {"old", "young"} and run_ids(settings, LABEL_CHANGES) == {"old"}


ROUND: dict[str, Any] = {"round": 0, "member_id": "ann", "query_hash": "h", "query_text": "text"} | {
    name: [] for name in ("item_ids", "item_hashes", "item_texts", "reused_ids", "reused_hashes")
}


def test_a_members_newest_coverage_stays_however_old(settings: Settings) -> None:
    write_run(settings.tables, "first", at=NOW - 500 * DAY)
    write_run(settings.tables, "second", at=NOW - 400 * DAY)
    maintain(settings)
    assert run_ids(settings, COVERAGE) == {"second"}, "the newest of both, and the first one's year is over"


def test_what_the_audit_reads_is_never_removed(settings: Settings) -> None:
    write_run(settings.tables, "old", at=NOW - 4000 * DAY)
    put(settings.tables, TEXTS, [{"text_hash": "h", "kind": "query", "text": "t"}])
    put(settings.tables, JUDGMENTS, [JUDGMENT])
    lineage = (TEXTS, JUDGMENTS, LABELS, LABEL_CHANGES)
    before = {table.name: query(settings.tables, f"SELECT * FROM {table.name}", table) for table in lineage}
    grow_old(settings, *lineage, RUNS)
    maintain(settings)
    assert {t.name: query(settings.tables, f"SELECT * FROM {t.name}", t) for t in lineage} == before
    assert read_run(settings.tables, "old").state == "published"


JUDGMENT = {"scorer_id": "s", "query_hash": "h", "item_hash": "i", "generation": 0, "margin": 1.0, "score": 0.7} | {
    "is_reference": False,
    "engine": "{}",
    "run_id": "old",
    "judged_at": NOW,
}


def test_files_of_a_pinned_version_outlive_the_vacuum_while_their_run_is_held(settings: Settings) -> None:
    pinned = write_run(settings.tables, "held", at=NOW - 20 * DAY, published=False)
    append_events(settings.tables, "held", {"held": {"reasons": ["too many removed"]}}, at=NOW - 19 * DAY)
    overwrite_profiles(settings)
    grow_old(settings, PROFILES)
    counts = maintain(settings)
    assert counts["runs_held"] == 1 and "profiles" not in counts["files_vacuumed"]
    at = {PROFILES.name: pinned.profiles_delta_version}
    assert len(query(settings.tables, "SELECT profile_text FROM profiles", PROFILES, versions=at)) == 3

    append_events(settings.tables, "held", {"approved": {}, "published": {}}, at=NOW - 10 * DAY)
    assert maintain(settings)["files_vacuumed"]["profiles"] == 1
    assert query(settings.tables, "SELECT profile_text FROM profiles", PROFILES) == [{"profile_text": "new"}]


def test_young_files_and_versions_stay_readable(settings: Settings) -> None:
    before = DeltaTable(table_path(settings.tables, PROFILES)).version()
    overwrite_profiles(settings)
    assert maintain(settings)["files_vacuumed"] == {}
    assert len(query(settings.tables, "SELECT 1 AS one FROM profiles", PROFILES, versions={PROFILES.name: before})) == 3


def test_files_that_a_killed_writer_left_are_deleted(settings: Settings) -> None:
    put(settings.tables, TEXTS, [{"text_hash": "h", "kind": "query", "text": "t"}])
    orphan = Path(table_path(settings.tables, TEXTS)) / "part-of-no-version.parquet"
    orphan.write_bytes(b"half a file")
    grow_old(settings, TEXTS)
    assert maintain(settings)["files_vacuumed"] == {"texts": 1}
    assert not orphan.exists() and query(settings.tables, "SELECT text FROM texts", TEXTS) == [{"text": "t"}]


def test_small_files_are_joined_but_not_those_of_a_run_that_is_going(settings: Settings) -> None:
    for number in range(5):
        put(settings.tables, JUDGMENTS, [JUDGMENT | {"item_hash": str(number)}])
        put(settings.tables, PROFILES, [{"member_id": f"member {number}", "profile_text": "t"}])
    for name, days in (("ended", 10.0), ("going", 0.1)):
        write_run(settings.tables, name, at=NOW - days * DAY, published=name == "ended")
        write_run(settings.tables, name, at=NOW - days * DAY, published=name == "ended")
    compacted = maintain(settings)["files_compacted"]
    assert compacted["judgments"] == 4 and compacted["candidates"] == 1, "one of the two runs' two files each"
    assert len(DeltaTable(table_path(settings.tables, JUDGMENTS)).file_uris()) == 1
    assert query(settings.tables, "SELECT count(*) AS n FROM judgments", JUDGMENTS) == [{"n": 5}]
    assert "profiles" not in compacted and "catalog" not in compacted, "their new versions would start runs"


def test_a_run_that_died_is_written_down_as_failed_once_and_goes_on_if_somebody_clears_it(settings: Settings) -> None:
    write_run(settings.tables, "dead", at=NOW - 3 * DAY, published=False)
    write_run(settings.tables, "going", at=NOW - DAY, published=False)
    write_run(settings.tables, "published", at=NOW - 3 * DAY)
    write_run(settings.tables, "held", at=NOW - 3 * DAY, published=False)
    append_events(settings.tables, "held", {"held": {}}, at=NOW - 3 * DAY + DAY / 24)
    assert maintain(settings)["runs_failed"] == 1 and maintain(settings)["runs_failed"] == 0
    assert read_run(settings.tables, "dead").state == "failed" and read_run(settings.tables, "going").state == "open"
    append_events(settings.tables, "dead", {"stop_early": {}}, at=datetime.now(UTC))
    assert read_run(settings.tables, "dead").state == "open"
    assert fail_idle_runs(settings, NOW + 5 * DAY) == 2, "it died again, and the other one too"
    assert read_run(settings.tables, "dead").n_failed == 2


def test_a_published_event_that_was_lost_is_repaired(settings: Settings) -> None:
    write_run(settings.tables, "torn", at=NOW - DAY)
    torn = DeltaTable(table_path(settings.tables, RUNS))
    torn.delete("event IN ('published', 'publish_labels')")
    counts = maintain(settings)
    assert counts["published_repaired"] == 1 and counts["unpublished_coverage"] == 0
    assert read_run(settings.tables, "torn").state == "published"


def test_staging_goes_with_its_run_and_stays_with_one_that_is_going(settings: Settings) -> None:
    def folders(name: str) -> Iterable[Path]:
        return scores_folder(settings.staging, name, 0, "scorer"), settings.staging / "retrieval" / name / "sections"

    for name, days in (("ended", 10.0), ("dead", 10.0), ("going", 0.1)):
        write_run(settings.tables, name, at=NOW - days * DAY, published=name == "ended")
        for folder in (*folders(name), *folders("another deployment's")):
            folder.mkdir(parents=True, exist_ok=True)
    (settings.staging / "artifacts" / "a").mkdir(parents=True)
    assert maintain(settings)["staging_removed"] == 4
    assert not any(folder.exists() for name in ("ended", "dead") for folder in folders(name))
    assert all(folder.exists() for name in ("going", "another deployment's") for folder in folders(name))
    assert (settings.staging / "artifacts" / "a").exists()


def test_on_tables_that_do_not_exist_yet_there_is_nothing_to_do(tmp_path: Path) -> None:
    counts = maintain(settings_under(tmp_path))
    assert {name: value for name, value in counts.items() if value} == {"run_id": counts["run_id"]}


def test_maintenance_stands_in_the_ledger_and_is_no_run_of_the_list(settings: Settings) -> None:
    write_run(settings.tables, "weekly_full-1", at=NOW - DAY)
    done = run_job("maintain_tables", {"trigger_id": "t"}, settings)
    assert read_run(settings.tables, done["run_id"]).of("maintain_tables")["runs_failed"] == 0
    assert [found["run_id"] for found in list_runs(settings, limit=9)] == ["weekly_full-1"]
    assert show_run(settings, done["run_id"])["state"] == "ended"


def test_files_must_outlive_the_runs_that_read_them(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="files must outlive the runs"):
        settings_under(tmp_path, vacuum_hours=24, run_idle_hours=48)


@pytest.mark.parametrize("table", dict.fromkeys((*UPSTREAM_TABLES, *RUN_TABLES)), ids=lambda table: table.name)
def test_only_tables_with_partitions_by_run_expire_and_lineage_never_does(table: Table) -> None:
    assert table.kept_days is None or "run_id" in table.partition_by
    if table.name in ("texts", "judgments", "runs", "labels", "label_changes", "embeddings"):
        assert table.kept_days is None
