"""Every question about a label, over a published history: why it is there, why not, since when, and what changed."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from jobs.audit import (
    audit_label,
    audit_member,
    find_members,
    find_qualifications,
    label_history,
    labels_of,
    run_diff,
)
from jobs.cli import app
from jobs.maintain_tables import Params, run
from jobs.settings import Settings
from jobs.table_path import table_path
from mis_scoring.core.errors import DataError
from mis_scoring.core.prompt import COMPACT
from schemas.coverage import COVERAGE
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.judgments import JUDGMENTS
from schemas.label_changes import LABEL_CHANGES
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.quarantine import QUARANTINE
from tests.published_history import ARTIFACT, START, History
from tests.published_run import append_events, pins, put
from tests.world import settings_under

CATALOG = {
    "q0": "nursing of patients",
    "q1": "baking of bread",
    "q2": "welding of pipes",
    "q3": "painting of walls",
    "q4": "singing in a choir",
}
ANN = "I worked in nursing and baking; later painting."
PROFILES = {"ann": ANN, "bob": "Experienced in welding.", "dan": "singing"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Four publications: the first, a changed profile, a changed catalog, nothing; then a run that is not published."""
    made = History(settings_under(tmp_path_factory.mktemp("history"), engines_usd_per_hour=3.6))
    made.put_profiles(PROFILES)
    made.put_catalog(CATALOG)
    made.run()
    made.put_profiles(PROFILES | {"ann": "I worked in nursing and painting."})
    made.run()
    made.put_catalog(CATALOG | {"q0": "nursing of children"}, retired=("q3",))
    made.run()
    made.run()
    made.run(published=False)
    lost = {"member_id": "ann", "qualification_id": "q0", "change": "removed", "reason": "scorer", "after": None}
    put(made.root, LABEL_CHANGES, [lost | {"run_id": "run-5", "before": made.labels["ann", "q0"]}])
    return made


@pytest.fixture
def settings(history: History) -> Settings:
    return history.settings


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["qualification_id"] for row in rows]


def test_an_accepted_label_shows_all_that_it_was_made_of(settings: Settings) -> None:
    found = audit_label(settings, "ann", "q0")
    assert (found["state"], found["reason"], found["is_stale"]) == ("accepted", "score >= threshold", False)
    assert found["score"] == pytest.approx(1 / (1 + 2.718281828 ** -found["margin"])) and found["threshold"] == 0.5
    assert (found["rank"], found["similarity"], found["round"]) == (0, 0.9, 0)
    assert found["profile"]["query_text"] == COMPACT.render_query("I worked in nursing and painting.")
    assert found["qualification"]["item_text"] == COMPACT.render_item("nursing of children")
    assert found["judgment"]["engine"] == {"device": "cpu", "engine": "cascade"}
    runs = {role: run["run_id"] for role, run in found["runs"].items()}
    assert runs == {"judged": "run-3", "published": "run-3", "since": "run-1", "confirmed": "run-4"}
    assert found["runs"]["judged"]["trigger_id"] == "a test", "the DAG run"
    assert found["cost"] == {"pairs": 10, "tokens": 50.0, "seconds": 0.2, "usd": pytest.approx(0.0002)}


def test_an_absent_label_says_which_kind_of_absence_it_is(settings: Settings) -> None:
    def state(member: str, qualification: str) -> tuple[str, str]:
        found = audit_label(settings, member, qualification)
        return found["state"], found["reason"]

    rejected = audit_label(settings, "ann", "q1")
    assert rejected["state"] == "rejected" and 0 <= rejected["score"] < rejected["threshold"]
    assert rejected["qualification"]["item_text"] == COMPACT.render_item("baking of bread")
    assert rejected["runs"]["published"] is None and rejected["runs"]["judged"]["run_id"] == "run-2"
    assert state("dan", "q4") == (
        "not_evaluated",
        "stopped early (accepted_too_little) after 1 round(s), before rank 3",
    )
    assert state("ann", "q3") == ("not_in_catalog", "its status is retired")
    assert state("ann", "q9") == ("not_in_catalog", "no such entry")
    assert state("eve", "q0") == ("not_evaluated", "no such member in profiles")


def test_an_entry_that_could_not_be_used_or_found_was_not_evaluated(tmp_path: Path) -> None:
    made = small(tmp_path)
    made.put_catalog(CATALOG | {"q8": "", "q9": "diving"})
    aside = {"run_id": "run-1", "step": "retrieve_candidates", "table": "catalog", "at": made.at("run-1")}
    put(made.root, QUARANTINE, [aside | {"key": "q8", "reason": "holds no text"}])
    reasons = [audit_label(made.settings, "ann", entry)["reason"] for entry in ("q8", "q9")]
    assert reasons[0] == "run-1 quarantined the entry: holds no text"
    assert reasons[1] == "not among the 10 candidates that retrieval proposed"


@pytest.mark.parametrize("moment", ["run-1", "2026-03-03T12:00:00", "2026-03-03T00:00:00+00:00"])
def test_an_earlier_moment_is_a_run_or_a_time(settings: Settings, moment: str) -> None:
    """run-1 was published some minutes after noon of March 2, run-2 a day later."""
    assert ids(labels_of(settings, "ann", as_of=moment)) == ["q0", "q1", "q3"]
    found = audit_label(settings, "ann", "q3", as_of=moment)
    assert (found["state"], found["is_stale"], found["as_of"]["run_id"]) == ("accepted", None, "run-1")
    assert found["profile"]["query_text"] == COMPACT.render_query(ANN)
    assert audit_label(settings, "ann", "q4", as_of=moment)["state"] == "rejected"


def test_before_the_first_publication_nothing_was_evaluated(settings: Settings) -> None:
    found = audit_label(settings, "ann", "q0", as_of="2026-03-01")
    assert (found["state"], found["reason"]) == ("not_evaluated", "no run had covered this member by then")
    assert labels_of(settings, "ann", as_of="2026-03-01") == []


def test_after_a_retirement_the_entry_was_not_in_the_catalog_and_before_it_was(settings: Settings) -> None:
    states = {run_id: audit_label(settings, "ann", "q3", as_of=run_id) for run_id in ("run-2", "run-3", "run-4")}
    assert {run_id: found["state"] for run_id, found in states.items()} == {
        "run-2": "accepted",
        "run-3": "not_in_catalog",
        "run-4": "not_in_catalog",
    }
    assert states["run-4"]["reason"] == "removed by run-3: retired"


def test_a_retired_entry_that_kept_its_slot_was_not_in_the_catalog_until_a_run_judges_it_again(tmp_path: Path) -> None:
    made = small(tmp_path)
    made.put_catalog(CATALOG, retired=("q0",))
    made.keeps_candidates = True
    made.run(kind="catalog_backfill")
    made.put_catalog(CATALOG)
    gone = ("not_in_catalog", "removed by run-2: retired")
    for moment in ("run-2", None):
        found = audit_label(made.settings, "ann", "q0", as_of=moment)
        assert (found["state"], found["reason"]) == gone
    assert audit_label(made.settings, "ann", "q1", as_of="run-2")["state"] == "accepted", "its slot is not empty"
    made.put_profiles(PROFILES | {"ann": "baking"})
    made.keeps_candidates = False
    made.run()
    assert audit_label(made.settings, "ann", "q0")["state"] == "rejected"


@pytest.mark.parametrize(
    ("moment", "message"), [("run-5", "a run that is not published"), ("soon", "neither a run nor")]
)
def test_a_moment_that_is_none_is_refused(settings: Settings, moment: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        audit_label(settings, "ann", "q0", as_of=moment)


def test_the_history_of_a_label_is_every_published_change_with_its_reason(settings: Settings) -> None:
    changes = label_history(settings, "ann", "q0")
    assert [(one["run_id"], one["change"], one["reason"]) for one in changes] == [
        ("run-1", "added", "first_time"),
        ("run-2", "revised", "profile_changed"),
        ("run-3", "revised", "catalog_text_changed"),
    ]
    assert changes[0]["before"] is None and changes[1]["before"]["judged_run_id"] == "run-1"
    gone = [(one["qualification_id"], one["reason"]) for one in label_history(settings, "ann") if not one["after"]]
    assert gone == [("q1", "profile_changed"), ("q3", "retired")]


def test_a_rejection_shows_the_judgment_that_its_run_used(tmp_path: Path) -> None:
    """A newer generation counts from the run on that published with it."""
    made = small(tmp_path)
    old = audit_label(made.settings, "ann", "q4")["judgment"]
    pair = {name: audit_label(made.settings, "ann", "q4")[part][name] for part, name in _HASHES}
    row = {"scorer_id": "scorer", "generation": 1, "margin": -9.0, "score": 0.0001, "is_reference": True}
    row |= {"engine": "{}", "run_id": "run-2", "judged_at": made.at("run-2")} | pair
    put(made.root, JUDGMENTS, [row])
    assert audit_label(made.settings, "ann", "q4")["judgment"] == old
    made.run()
    found = audit_label(made.settings, "ann", "q4")["judgment"]
    assert (found["margin"], found["generation"], found["judged_run_id"]) == (-9.0, 1, "run-2")
    assert audit_label(made.settings, "ann", "q4", as_of="run-1")["judgment"] == old


_HASHES = (("profile", "query_hash"), ("qualification", "item_hash"))


def test_a_diff_of_two_runs_is_the_net_of_all_in_between(settings: Settings) -> None:
    found = run_diff(settings, "run-1", "run-4")
    assert found["runs"] == ["run-2", "run-3", "run-4"] and found["n_changes"] == 3
    assert found["counts"] == {
        "added": {},
        "removed": {"profile_changed": 1, "retired": 1},
        "revised": {"catalog_text_changed": 1},
    }
    assert ids(found["changes"]) == ["q0", "q1", "q3"]
    assert found["changes"][0]["before"]["judged_run_id"] == "run-1", "the first of two revisions"
    turned = run_diff(settings, "run-4", "run-1", limit=1)
    assert turned["counts"]["added"] == {"profile_changed": 1, "retired": 1} and ids(turned["changes"]) == ["q0"]
    assert run_diff(settings, "run-3", "run-4")["n_changes"] == 0


def test_labels_as_of_a_run_are_those_before_it_with_its_changes(settings: Settings, history: History) -> None:
    """The labels that stand come out of the changes alone, and a diff leads from one moment to the other."""
    for member in PROFILES:
        assert labels_of(settings, member, as_of="run-4") == labels_of(settings, member)
        assert {q for m, q in history.labels if m == member} == set(ids(labels_of(settings, member)))


def test_a_search_is_by_the_start_of_an_id_or_by_text_and_bounded(settings: Settings) -> None:
    assert find_members(settings, "a") == [{"member_id": "ann", "n_labels": 1, "is_in_profiles": True}]
    assert [row["member_id"] for row in find_members(settings, "", limit=2)] == ["ann", "bob"]
    assert ids(find_qualifications(settings, "NURSING")) == ["q0"] and ids(
        find_qualifications(settings, "q", limit=1)
    ) == ["q0"]
    assert find_members(settings, "'") == [] and find_qualifications(settings, "100% of 'x'") == []


def test_a_members_set_is_one_document(settings: Settings) -> None:
    found = audit_member(settings, "ann")
    assert (found["state"], found["n_labels"], found["is_stale"]) == ("labelled", 1, False)
    assert found["labels"][0]["text"] == "nursing of children" and found["confirmed"]["run_id"] == "run-4"
    assert audit_member(settings, "dan")["state"] == "unlabelled"
    assert audit_member(settings, "eve")["state"] == "not_evaluated"


def small(folder: Path) -> History:
    made = History(settings_under(folder))
    made.put_profiles(PROFILES)
    made.put_catalog(CATALOG)
    made.run()
    return made


def test_a_label_is_stale_when_what_it_stands_on_has_moved(tmp_path: Path) -> None:
    made = small(tmp_path)
    made.put_profiles({"ann": "other"})
    made.put_catalog(CATALOG | {"q0": "nursing at home"}, retired=("q1",))

    def codes(member: str, qualification: str) -> list[str]:
        return [one["code"] for one in audit_label(made.settings, member, qualification)["stale_reasons"]]

    assert codes("ann", "q1") == ["profile_changed", "entry_gone"]
    assert codes("bob", "q2") == ["member_removed"]
    made.pinned = {"artifact_id": "another"}
    made.put_profiles({"dan": "singing"})
    made.run()  # bob and ann are gone and their labels with them; nobody else's stand on another labeler
    assert codes("dan", "q4") == []


def test_a_member_that_a_later_run_left_out_keeps_stale_labels_with_the_reason(tmp_path: Path) -> None:
    made = small(tmp_path)
    aside = {"step": "retrieve_candidates", "table": "profiles", "reason": "holds no text", "at": made.at("run-2")}
    for member in ("ann", "new"):
        row = made.coverage["ann"] | {"run_id": "run-2", "member_id": member, "pinned_at": made.at("run-2")}
        put(made.root, COVERAGE, [row | {"is_complete": False, "incomplete_reason": "quarantined"}])
        put(made.root, QUARANTINE, [aside | {"run_id": "run-2", "key": member}])
    assert not audit_label(made.settings, "ann", "q0")["is_stale"], "run-2 is not published"
    published = {"labels_version": None, "compared_with": 1}
    append_events(made.root, "run-2", {"pinned": asdict(pins(made.root, "run-2")), "published": published}, at=START)
    found = audit_label(made.settings, "ann", "q0")
    reasons = {one["code"]: one["reason"] for one in found["stale_reasons"]}
    assert (found["state"], reasons["quarantined"]) == ("accepted", "quarantined in run-2: holds no text")
    new = audit_label(made.settings, "new", "q0")
    assert (new["state"], new["reason"]) == ("not_evaluated", "quarantined in run-2: holds no text")


def test_every_answer_outlives_vacuum_and_compaction(tmp_path: Path) -> None:
    made = small(tmp_path)
    made.put_profiles(PROFILES | {"ann": "nursing"})
    made.run()
    asked = [("ann", "q0", None), ("ann", "q1", None), ("ann", "q1", "run-1"), ("dan", "q4", "run-1")]

    def answers() -> list[Any]:
        pairs = [audit_label(made.settings, member, entry, as_of=moment) for member, entry, moment in asked]
        return [*pairs, label_history(made.settings, "ann"), run_diff(made.settings, "run-1", "run-2")]

    before = answers()
    for table in dict.fromkeys((*UPSTREAM_TABLES, *RUN_TABLES)):
        delta = DeltaTable(table_path(made.root, table))
        delta.optimize.compact()
        delta.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
    assert answers() == before


def test_what_retention_took_away_is_said_and_never_guessed(tmp_path: Path) -> None:
    """The runs of March are more than 90 days old, their coverage still stands."""
    made = small(tmp_path)
    counts = run(made.settings, Params(trigger_id="a test"))
    assert {"candidates", "member_rounds"} <= counts["runs_expired"].keys()
    accepted = audit_label(made.settings, "ann", "q0")
    assert accepted["state"] == "accepted" and accepted["profile"]["query_text"] is not None
    assert accepted["similarity"] is None and accepted["taken_away"] != []
    absent = audit_label(made.settings, "ann", "q2")
    assert (absent["state"], absent["score"]) == ("unknown", None)
    assert "the candidates of run-1 were kept 90 days" in absent["reason"]


def test_a_rejection_is_found_by_its_texts_when_its_round_is_gone(tmp_path: Path) -> None:
    made = small(tmp_path)
    made.stage_artifact()
    made.run()
    before = {(member, "q4"): audit_label(made.settings, member, "q4") for member in ("ann", "bob")}
    DeltaTable(table_path(made.root, MEMBER_ROUNDS)).delete()
    assert audit_label(made.settings, "ann", "q4") == before["ann", "q4"] and before["ann", "q4"]["score"] < 0.5
    made.put_profiles(PROFILES | {"ann": "another text"})
    gone = audit_label(made.settings, "ann", "q4")
    assert (gone["state"], gone["score"]) == ("rejected", None)
    assert gone["taken_away"] == ["the round of run-2 was kept 30 days, and the profile is another one since"]
    named = made.coverage["ann"] | {"query_hash": before["ann", "q4"]["profile"]["query_hash"]}
    DeltaTable(table_path(made.root, COVERAGE)).delete("run_id = 'run-2'")
    put(made.root, COVERAGE, [named])
    assert audit_label(made.settings, "ann", "q4")["score"] == before["ann", "q4"]["score"], "coverage names the query"
    earlier = audit_label(made.settings, "ann", "q4", as_of="run-1")
    assert earlier["taken_away"] == ["the round of run-1 was kept 30 days, and its labeler is gone too"]


def test_the_labeler_is_described_as_long_as_it_is_staged_or_registered(tmp_path: Path) -> None:
    made = small(tmp_path)
    assert audit_label(made.settings, "ann", "q0")["artifact"]["prompt_digest"] is None, "neither"
    made.stage_artifact()
    made.run()
    found = audit_label(made.settings, "ann", "q0")["artifact"]
    assert found["artifact_id"] == ARTIFACT.artifact_id and found["checkpoint_digest"] == "0" * 64
    assert found["label_tokens"] == {"yes": "YES", "no": "NO"} and found["numeric_profile"]["dtype"] == "float32"
    replace(ARTIFACT, threshold=0.7).save(made.settings.staging / "artifacts" / "tiny")
    assert audit_label(made.settings, "ann", "q0")["artifact"]["prompt_digest"] is None, "another artifact's"


def test_the_commands_print_what_the_functions_return(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMLABEL_HOME", str(settings.home))

    def output(*arguments: str) -> str:
        done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    assert output("audit", "ann", "q0").startswith("accepted: score >= threshold")
    assert "nursing of children" in output("audit", "ann", "q0") and "rejected" in output("audit", "ann", "q1")
    assert "as of run-1" in output("audit", "ann", "q3", "--as-of", "run-1")
    assert "1 labels" in output("audit", "ann") and '"n_labels": 1' in output("audit", "ann", "--json")
    assert "catalog_text_changed" in output("history", "ann", "q0")
    assert output("diff", "run-1", "run-4", "--limit", "1").startswith("3 labels differ")
    assert "and 2 more" in output("diff", "run-1", "run-4", "--limit", "1")
