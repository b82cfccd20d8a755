"""Erasing a member: nothing of the text is left in any file, nothing of anybody else is touched, and it is said."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from jobs.audit import audit_label, audit_member, label_history, labels_of
from jobs.audit.artifact import ArtifactContent
from jobs.cli import app
from jobs.erasure import forget_member as job
from jobs.erasure.forget_member import forget_member
from jobs.erasure.rows import rows_of
from jobs.erasure.traces import Traces
from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.retrieval.sections import split_sections
from jobs.table_path import table_path
from jobs.table_reader import query
from jobs.tombstone import write_tombstone
from mis_scoring.core.identity import text_hash
from mis_scoring.ray_data.staging import scores_folder
from schemas.embeddings import EMBEDDINGS
from schemas.every import RUN_TABLES
from schemas.judgments import JUDGMENTS
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.texts import TEXTS
from tests.published_history import START, History
from tests.published_run import append_events, pins, put
from tests.text_search import files_with
from tests.world import settings_under

SECRET = "Zanzibarian nursing"
ANN = f"{SECRET}, baking; later \u201cpainting\u201d."
CATALOG = {"q0": "nursing of patients", "q1": "baking of bread", "q2": "welding of pipes"}
PROFILES_OF = {"ann": ANN, "bob": "Experienced in welding and nursing."}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two published runs, a profile apart; every replaced file is still on disk. Copied for each test."""
    home = tmp_path_factory.mktemp("written")
    made = History(settings_under(home))
    made.stage_artifact()
    made.put_profiles(PROFILES_OF | {"ann": f"{SECRET} alone"})
    made.put_catalog(CATALOG)
    made.run()
    made.put_profiles(PROFILES_OF)
    made.run()
    for text in (ANN, PROFILES_OF["bob"]):
        hashes = [text_hash(section) for section in split_sections(text)]
        put(made.root, EMBEDDINGS, [{"retriever_id": "r", "text_hash": one, "vector": b"1234"} for one in hashes])
    DeltaTable(table_path(made.root, TEXTS)).optimize.compact()  # the small files stay, of no current version
    return home


@pytest.fixture
def made(written: Path, tmp_path: Path) -> History:
    shutil.copytree(written, tmp_path / "home")
    again = History(settings_under(tmp_path / "home"))
    again.stage_artifact()
    again.n_runs = 2
    again.put_catalog(CATALOG)
    return again


def left(made: History) -> list[str]:
    """Files with the text, but for the source's own table."""
    return files_with(made.settings.home, SECRET, besides=(made.root / "profiles",))


def test_no_file_holds_the_text_afterwards(made: History) -> None:
    home, staging = made.settings.home, made.settings.staging
    leftover = Path(table_path(made.root, MEMBER_ROUNDS)) / "run_id=run-2" / "part-killed.parquet"
    pq.write_table(pa.table({"member_id": ["ann"], "query_text": [ANN]}), leftover)  # never committed
    others_file = leftover.with_name("part-of-bob.parquet")  # of a run that goes on and has not committed yet
    pq.write_table(pa.table({"member_id": ["bob"], "query_text": ["welding"]}), others_file)
    sections = staging / "retrieval" / "run-2" / "sections" / "part.parquet"
    sections.parent.mkdir(parents=True)
    pq.write_table(pa.table({"member_id": ["ann", "bob"], "text": [SECRET, "welding"]}), sections)
    (sections.parent / ".part.parquet.crc").write_bytes(b"of the old content")
    scores = scores_folder(staging, "run-2", 0, "scorer") / "data" / "rows.parquet"
    scores.parent.mkdir(parents=True)
    pq.write_table(pa.table({"member_id": ["ann"], "error": [f"too long: {SECRET}"]}), scores)
    work = home / "work"
    (work / "splits").mkdir(parents=True)
    lines = [json.dumps({"member_id": member, "profile_text": text}) for member, text in PROFILES_OF.items()]
    (work / "splits" / "test.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))
    (work / "evaluation").mkdir()
    (work / "evaluation" / "borderline.html").write_text(ANN)
    assert {path.split("/")[0] for path in left(made)} == {"tables", "staging", "work"}
    others = {table.name: _of_others(made, table.name) for table in RUN_TABLES}

    done = forget_member(made.settings, "ann", work=[work])

    assert left(made) == []
    assert done["rows_deleted"]["labels"] == 2 and done["rows_deleted"]["texts"] == 2 and done["is_in_profiles"]
    assert (done["staged_rewritten"], done["work_files"]) == (2, 2) and done["files_deleted"] > 0
    assert {table.name: _of_others(made, table.name) for table in RUN_TABLES} == others, "nobody else lost anything"
    vectors = {row["text_hash"] for row in query(made.root, "SELECT text_hash FROM embeddings", EMBEDDINGS)}
    assert vectors == section_hashes("bob") - section_hashes("ann"), "a part of both is embedded again"
    assert others_file.exists(), "only files that hold the member go"
    assert pq.read_table(sections)["member_id"].to_pylist() == ["bob"]
    assert not (sections.parent / ".part.parquet.crc").exists(), "Spark would refuse the file"
    assert "bob" in gzip.decompress((work / "splits" / "test.jsonl.gz").read_bytes()).decode()


def section_hashes(member: str) -> set[str]:
    return {text_hash(section) for section in split_sections(PROFILES_OF[member])}


def _of_others(made: History, name: str) -> list[dict[str, Any]]:
    """Rows that are not ann's, nor by a hash of her texts."""
    table = next(table for table in RUN_TABLES if table.name == name)
    hers = section_hashes("ann") - section_hashes("bob")
    rows = [row for row in query(made.root, f"SELECT * FROM {name}", table) if row.get("member_id") != "ann"]
    kept = [row for row in rows if SECRET not in str(row) and row.get("text_hash") not in hers]
    return sorted(kept, key=str) if name != "erasures" else []


def test_what_was_judged_stays_by_hash_and_the_audit_says_erased(made: History) -> None:
    before = query(made.root, "SELECT * FROM judgments", JUDGMENTS)
    decided = audit_label(made.settings, "ann", "q0")
    forget_member(made.settings, "ann")
    found = audit_label(made.settings, "ann", "q0")
    assert found["state"] == "erased" and found["reason"].startswith("the member was erased at 20")
    assert found["erasure"]["label"]["score"] == decided["score"] and found["erasure"]["n_labels"] == 2
    assert found["profile"]["query_text"] is None and found["score"] is None
    assert audit_label(made.settings, "ann", "q0", as_of="run-1")["state"] == "erased"
    assert audit_member(made.settings, "ann")["state"] == "erased"
    assert labels_of(made.settings, "ann") == [] == label_history(made.settings, "ann")
    assert query(made.root, "SELECT * FROM judgments", JUDGMENTS) == before
    assert audit_label(made.settings, "bob", "q2")["state"] == "accepted"


def test_every_table_that_holds_something_of_a_person_is_gone_through() -> None:
    hashes = dict.fromkeys(("profile_hashes", "query_hashes", "shared", "section_hashes"), frozenset[str]())
    rows = rows_of(Traces(member_id="ann", n_labelers_gone=0, **hashes))
    personal = {table.name for table in RUN_TABLES if table.personal in ("texts", "vectors", "ids")}
    assert personal <= {one.table.name for one in rows}


def test_a_run_that_may_be_at_work_on_the_member_is_waited_for(made: History) -> None:
    made.put_profiles(PROFILES_OF)
    run_id = made.run(published=False)
    with pytest.raises(CheckFailedError, match="run-3 may be at work on member 'ann'"):
        forget_member(made.settings, "ann")
    assert audit_label(made.settings, "ann", "q0")["state"] == "accepted", "refused before anything was written"
    append_events(made.root, run_id, {"held": {"reasons": []}}, at=START + timedelta(days=9))
    assert forget_member(made.settings, "ann")["rows_deleted"]["scope"] == 3, "nobody is at work on a held run"


def test_a_run_over_others_hinders_nothing_but_one_without_a_scope_does(made: History) -> None:
    made.put_profiles({"bob": PROFILES_OF["bob"]})
    made.run(published=False)
    append_events(made.root, "run-4", {"pinned": asdict(pins(made.root, "run-4"))}, at=START)
    with pytest.raises(CheckFailedError, match=r"^run-4 may be"):
        forget_member(made.settings, "ann")
    append_events(made.root, "run-4", {"scope_members": {}}, at=START)
    assert not forget_member(made.settings, "ann")["is_in_profiles"]
    assert left(made) == []


@pytest.mark.parametrize("step", ["delete_rows", "remove_old_files", "rewrite_staged", "_require_nothing_left"])
def test_killed_anywhere_and_run_again_it_ends_the_same(
    made: History, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first table's rows are gone, later ones are found by what the tombstone names."""
    real: Callable[..., Any] = getattr(job, step)

    def dies(*arguments: Any, **named: Any) -> None:
        real(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(job, step, dies)
        with pytest.raises(KeyboardInterrupt):
            forget_member(made.settings, "ann")
    assert audit_label(made.settings, "ann", "q0")["reason"].startswith("erasure begun at")
    forget_member(made.settings, "ann")
    assert left(made) == []
    found = audit_label(made.settings, "ann", "q0")
    assert found["erasure"]["n_labels"] == 2 and found["reason"].startswith("the member was erased")


def test_a_text_is_found_by_the_hash_of_its_profile_when_no_row_names_its_query(made: History) -> None:
    """Of the first profile: its rounds have expired, and the labels are of the second."""
    for table in (MEMBER_ROUNDS, LABEL_CHANGES):
        DeltaTable(table_path(made.root, table)).delete()
    done = forget_member(made.settings, "ann")
    assert (done["rows_deleted"]["texts"], done["labelers_gone"], left(made)) == (2, 0, [])


def test_that_a_labeler_is_gone_and_with_it_the_look_for_its_queries_is_said(
    made: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in (MEMBER_ROUNDS, LABEL_CHANGES):
        DeltaTable(table_path(made.root, table)).delete()
    monkeypatch.setattr("jobs.erasure.traces.artifact_of", lambda settings, pins: ArtifactContent(content=None))
    done = forget_member(made.settings, "ann")
    assert (done["rows_deleted"]["texts"], done["labelers_gone"]) == (1, 1), "that of the labels alone"


def test_a_run_that_was_pinned_meanwhile_is_seen(made: History, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_late(root: Path, *arguments: Any, **named: Any) -> None:
        write_tombstone(root, *arguments, **named)
        append_events(root, "run-9", {"pinned": asdict(pins(root, "run-9"))}, at=START)

    monkeypatch.setattr(job, "write_tombstone", write_late)
    with pytest.raises(CheckFailedError, match="run-9 may be at work"):
        forget_member(made.settings, "ann")
    assert len(query(made.root, "SELECT * FROM labels WHERE member_id = 'ann'", LABELS)) == 2
    assert audit_label(made.settings, "ann", "q0")["reason"].startswith("erasure begun")


def test_a_text_that_another_member_has_word_for_word_stays(made: History) -> None:
    made.put_profiles({"ann": ANN, "eve": ANN})
    made.run()
    done = forget_member(made.settings, "ann")
    assert done["texts_shared"] == 1
    assert audit_label(made.settings, "eve", "q0")["profile"]["query_text"] is not None


@pytest.mark.parametrize("folder", ["tables/texts", "staging/retrieval/run-2/sections"])
def test_a_file_that_cannot_be_read_is_neither_passed_over_nor_taken_from_a_writer(made: History, folder: str) -> None:
    broken = made.settings.home / folder / "part-broken.parquet"
    broken.parent.mkdir(parents=True, exist_ok=True)
    broken.write_bytes(b"PAR1 half of " + SECRET.encode())
    with pytest.raises(CheckFailedError, match=r"part-broken\.parquet, which cannot be read"):
        forget_member(made.settings, "ann")
    old = broken.stat().st_mtime - made.settings.run_idle_hours * 3600
    os.utime(broken, (old, old))
    forget_member(made.settings, "ann")
    assert left(made) == []


def test_a_member_that_nothing_knows_is_no_erasure(made: History, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingRequirementError, match="No member 'nobody'"):
        forget_member(made.settings, "nobody")
    monkeypatch.setenv("SEMLABEL_HOME", str(made.settings.home))
    assert CliRunner().invoke(app, ["forget", "ann"], input="n\n").exit_code == 1
    assert len(query(made.root, "SELECT * FROM labels WHERE member_id = 'ann'", LABELS)) == 2, "asked, and not wanted"
    done = CliRunner().invoke(app, ["forget", "ann", "--yes", "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["member_id"] == "ann"
    assert query(made.root, "SELECT member_id FROM profiles ORDER BY 1", PROFILES) != [], "the source is not ours"
