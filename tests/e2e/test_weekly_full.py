"""The weekly full refresh, whole: the command line, Airflow, Spark, Ray, MLflow and Delta on a sample of 30 members."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs.write_sample import BUNDLED_LABELER

pytestmark = pytest.mark.slow
MEMBERS = 30
REFRESH = ("refresh", "weekly_full", "--candidates", "150", "--json")  # three rounds of 50: some members stop after two


class Machine:
    """A deployment of its own, used through the command line only."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, *arguments: str, expect: int = 0, **settings: str) -> Any:
        env = {key: value for key, value in os.environ.items() if not key.startswith(("SEMLABEL_", "AIRFLOW_"))}
        settings |= {"home": str(self.home)}
        command = [sys.executable, "-m", "jobs.cli", *arguments]
        done = subprocess.run(
            command,
            env=env | {f"SEMLABEL_{name.upper()}": value for name, value in settings.items()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expect, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout else done.stderr

    def task_states(self) -> dict[str, str]:
        with sqlite3.connect(self.home / "airflow" / "airflow.db") as database:
            return dict(database.execute("SELECT task_id, state FROM task_instance ORDER BY start_date"))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("e2e"))
    machine.run("sample", "--members", str(MEMBERS))
    return machine


@pytest.fixture(scope="module")
def planned(machine: Machine) -> dict[str, Any]:
    plan = machine.run("plan", *REFRESH[1:])
    assert isinstance(plan, dict)
    return plan


@pytest.fixture(scope="module")
def first(machine: Machine, planned: dict[str, Any]) -> dict[str, Any]:
    report = machine.run(*REFRESH)
    assert isinstance(report, dict)
    return report


@pytest.fixture(scope="module")
def second(machine: Machine, first: dict[str, Any]) -> dict[str, Any]:
    report = machine.run(*REFRESH)
    assert isinstance(report, dict)
    return report


def test_the_first_refresh_labels_every_member_well(first: dict[str, Any]) -> None:
    assert first["counts"]["members"] == MEMBERS and first["left_out"] == {}
    assert first["counts"]["scored"] == first["counts"]["judgments"] > 0
    assert first["counts"]["engines_started"] >= 1 and first["counts"]["tokens"] > 0
    assert first["changes"] == {"added": first["counts"]["labels"]}
    assert first["pins"]["is_validated"]
    quality = first["quality"]
    assert quality["precision"] >= 0.85
    lost = sum(quality[f"lost_{where}"] for where in ("in_retrieval", "by_early_stop", "by_scorer"))
    assert quality["true_positives"] + lost == quality["supported"]


def test_a_second_refresh_is_a_new_run_that_scores_nothing_and_changes_nothing(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert second["run_id"] != first["run_id"]
    assert second["counts"]["scored"] == second["counts"]["engines_started"] == second["counts"]["tokens"] == 0
    assert second["counts"]["pairs_reused"] == second["counts"]["judgments"] == first["counts"]["judgments"]
    assert second["changes"] == {} and second["counts"]["labels"] == first["counts"]["labels"]
    assert {k: v for k, v in second["quality"].items()} == first["quality"]


def versions_in(tables: list[dict[str, Any]]) -> dict[str, str]:
    return {Path(table["name"]).name: table["facets"]["version"]["datasetVersion"] for table in tables}


def test_lineage_names_jobs_and_versions_and_nobodys_text(machine: Machine, first: dict[str, Any]) -> None:
    from jobs.table_reader import query
    from schemas.every import PROFILES

    lines = (machine.home / "lineage" / "events.jsonl").read_text().splitlines()
    ended = [event for event in map(json.loads, lines) if event["eventType"] == "COMPLETE"]
    of_first_run = {event["job"]["name"]: event for event in reversed(ended)}
    retrieved = versions_in(of_first_run["weekly_full.retrieve_candidates"]["inputs"])
    assert retrieved["profiles"] == str(first["pins"]["profiles_delta_version"])
    assert retrieved["catalog"] == str(first["pins"]["catalog_delta_version"])
    assert versions_in(of_first_run["weekly_full.publish_labels"]["outputs"])["labels"] == "1"
    assert "weekly_full.round_0.score_round" in of_first_run
    texts = query(machine.home / "tables", "SELECT profile_text AS text FROM profiles", PROFILES)
    written = "\n".join(lines)
    assert not any(sentence in written for row in texts for sentence in row["text"].split(". ") if len(sentence) > 20)


def test_rounds_that_nobody_needs_are_skipped(machine: Machine, second: dict[str, Any]) -> None:
    states = machine.task_states()
    needed = second["counts"]["rounds"]
    for number in range(16):
        expected = "success" if number < needed else "skipped"
        assert states[f"round_{number}.stop_early"] == expected, number
    assert states["publish_labels"] == states["report_run"] == "success"


def test_the_ledger_lists_the_plan_and_both_runs_newest_first(
    machine: Machine, planned: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> None:
    runs = machine.run("runs", "--json")
    assert [run["run_id"] for run in runs] == [second["run_id"], first["run_id"], planned["run_id"]]
    assert [run["state"] for run in runs] == ["published", "published", "planned"]
    shown = machine.run("runs", first["run_id"], "--json")
    assert {"pin_inputs", "round_0_score_round", "publish_labels"} <= {event["event"] for event in shown["events"]}


def test_a_plan_of_its_own_says_what_the_run_then_takes(planned: dict[str, Any], first: dict[str, Any]) -> None:
    assert planned["reasons"] == {"first_time": MEMBERS} and planned["above_ceiling"] == []
    actual = {"pairs_to_score": first["counts"]["scored"], "tokens": first["counts"]["tokens"]}
    for what, value in actual.items():
        assert planned[what]["min"] <= value <= planned[what]["max"], what
    own = {row["what"]: row for row in first["against_plan"]}
    assert own["tokens"] == {"what": "tokens", **planned["tokens"], "actual": actual["tokens"]}


def test_each_reason_to_stop_has_its_share(first: dict[str, Any]) -> None:
    assert set(first["stop_reasons"]) == {"accepted_too_little", "candidates_exhausted"}
    assert min(first["stop_reasons"].values()) >= 0.05 * MEMBERS


def test_the_audit_tells_the_states_apart(machine: Machine, second: dict[str, Any]) -> None:
    from jobs.table_reader import query
    from schemas.every import CANDIDATES, COVERAGE, LABELS

    root, of_run = machine.home / "tables", f"run_id = '{second['run_id']}'"
    label = query(root, "SELECT member_id, qualification_id FROM labels ORDER BY 1, 2 LIMIT 1", LABELS)[0]
    accepted = machine.run("audit", label["member_id"], label["qualification_id"], "--json")
    assert accepted["state"] == "accepted" and accepted["score"] >= accepted["threshold"]

    unlabelled = f"""
        SELECT c.member_id, c.qualification_id, c.rank < v.depth AS is_judged FROM candidates c
        JOIN coverage v ON c.member_id = v.member_id AND c.run_id = v.run_id
        LEFT JOIN labels l ON c.member_id = l.member_id AND c.qualification_id = l.qualification_id
        WHERE c.{of_run} AND l.member_id IS NULL ORDER BY c.member_id, c.rank"""
    rows = query(root, unlabelled, CANDIDATES, COVERAGE, LABELS)
    judged = next(row for row in rows if row["is_judged"])
    rejected = machine.run("audit", judged["member_id"], judged["qualification_id"], "--json")
    assert rejected["state"] == "rejected" and 0 <= rejected["score"] < rejected["threshold"]
    assert rejected["coverage"]["run_id"] == second["run_id"], "the latest run that covered the member answers"

    beyond = next(row for row in rows if not row["is_judged"])
    stopped = machine.run("audit", beyond["member_id"], beyond["qualification_id"], "--json")
    assert stopped["state"] == "not_evaluated" and "stopped early" in stopped["reason"]
    for pair, state in (
        ((label["member_id"], "skill:none"), "not_in_catalog"),
        (("nobody", label["qualification_id"]), "not_evaluated"),
    ):
        assert machine.run("audit", *pair, "--json", expect=4)["state"] == state


def test_an_own_labeler_goes_from_pairs_to_the_lineage_of_every_label(machine: Machine, tmp_path: Path) -> None:
    """The README's page on own labelers, with the sample's pairs for own ones and the bundled labeler as the base."""
    from jobs.table_reader import query
    from schemas.every import LABELS

    pairs, work = str(tmp_path / "pairs.parquet"), str(tmp_path / "work")
    machine.run("labeler", "sample-pairs", pairs, "--members", "80", "--pairs-per-member", "25")
    prompt = ("--readout", "<|readout|>", "--yes", "YES", "--no", "NO")
    base = str(BUNDLED_LABELER)
    trained = machine.run("labeler", "train", work, "--base", base, "--pairs", pairs, *prompt, "--epochs", "1")
    assert trained["members"] > 0 and trained["pairs_per_s"] > 0
    judged = machine.run("labeler", "evaluate", work, "--tie-pairs", "50", "--derived-members", "3", "--json")
    assert judged["f1"] >= 0.9
    version = machine.run("labeler", "register", f"{work}/labeler", "--alias", "challenger")
    machine.run("labeler", "promote", "challenger", expect=1)
    assert machine.run("labeler", "gate", "challenger", "--json")["holds"]
    assert machine.run("labeler", "promote", "challenger", "--json")["version"] == version["version"]

    no_hold = {"hold_removed": "1", "hold_category_change": "9"}  # a quarter of the candidates: labels go, and may
    report = machine.run("refresh", "weekly_full", "--candidates", "50", "--json", **no_hold)
    pins = report["pins"]
    assert (pins["labeler_version"], pins["artifact_id"]) == (version["version"], version["artifact_id"])
    assert report["counts"]["scored"] == 50 * MEMBERS and report["counts"]["pairs_reused"] == 0
    labels = query(machine.home / "tables", "SELECT DISTINCT artifact_id, scorer_id FROM labels", LABELS)
    assert labels == [{"artifact_id": version["artifact_id"], "scorer_id": version["scorer_id"]}]
