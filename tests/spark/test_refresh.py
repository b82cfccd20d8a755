"""A refresh run over real Spark and Delta: what is scored, reused, published and changed."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.labeler_registry import register
from jobs.settings import Settings
from mis_scoring.core.artifact import LabelerArtifact
from schemas.labels import LABELS
from tests.world import World, settings_under

CATALOG = {
    f"q-{word}": f"{word} {rest}"
    for word, rest in {
        "nursing": "of patients in intensive care",
        "welding": "of steel pipes",
        "teaching": "of mathematics",
        "baking": "of bread",
        "driving": "of heavy lorries",
        "painting": "of walls",
        "singing": "in a choir",
        "coding": "in Python",
        "planning": "of projects",
        "selling": "of houses",
    }.items()
}
PROFILES = {
    "ann": "I worked in nursing, baking and teaching for years.",
    "bob": "Experienced in welding and painting.",
    "cat": "I enjoy long walks.",
}


@pytest.fixture(scope="module")
def first_home(spark: SparkSession, registry: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a world after its first refresh."""
    home = tmp_path_factory.mktemp("first")
    world = World(spark, settings_under(home, mlflow_uri=registry.tracking_uri, candidates_per_member=8))
    world.put_profiles(PROFILES)
    world.put_catalog(CATALOG)
    world.refresh("first")
    return home


@pytest.fixture
def refreshed(spark: SparkSession, registry: Settings, first_home: Path, tmp_path: Path) -> World:
    """A world of the test's own, after its first refresh."""
    shutil.copytree(first_home, tmp_path / "home")
    settings = settings_under(tmp_path / "home", mlflow_uri=registry.tracking_uri, candidates_per_member=8)
    return World(spark, settings)


def test_the_published_labels_are_the_accepted_pairs(refreshed: World) -> None:
    expected = {("ann", "q-nursing"), ("ann", "q-baking"), ("ann", "q-teaching"), ("bob", "q-welding")}
    assert refreshed.labels() == expected | {("bob", "q-painting")}
    assert {row["reason"] for row in refreshed.rows("label_changes")} == {"first_time"}


def test_a_second_refresh_retrieves_scores_nothing_and_changes_nothing(refreshed: World) -> None:
    before = (refreshed.rows("labels"), refreshed.version(LABELS))
    second = refreshed.refresh("second")
    assert len(refreshed.rows("runs", where="event = 'published'")) == 2
    assert refreshed.scored == 0 and refreshed.reused > 0
    assert second["changes"] == {} and second["labels_version"] is None
    assert (refreshed.rows("labels"), refreshed.version(LABELS)) == before
    assert len(refreshed.rows("candidates", where=f"run_id = '{second['run_id']}'")) == 3 * 8


def test_the_same_trigger_is_the_same_run(refreshed: World) -> None:
    first = refreshed.publish(refreshed.pin("first"))
    assert first["changes"] == {"added": 5}
    assert len(refreshed.rows("runs", where="event = 'published'")) == 1


def test_a_larger_k_scores_only_the_new_candidates(refreshed: World) -> None:
    n_judged = len(refreshed.rows("judgments"))
    refreshed.settings = refreshed.settings.model_copy(update={"candidates_per_member": 10})
    refreshed.refresh("wider")
    assert refreshed.reused > 0
    assert refreshed.scored == len(refreshed.rows("judgments")) - n_judged


def test_a_member_stops_when_its_round_accepts_too_little(refreshed: World) -> None:
    coverage = {row["member_id"]: row for row in refreshed.rows("coverage")}
    assert (coverage["cat"]["stop_reason"], coverage["cat"]["rounds"]) == ("accepted_too_little", 1)
    assert (coverage["cat"]["judged"], coverage["cat"]["depth"], coverage["cat"]["candidates"]) == (4, 4, 8)
    assert all(row["is_complete"] for row in coverage.values())


def test_a_member_whose_rounds_keep_accepting_exhausts_its_candidates(refreshed: World) -> None:
    changed = {key: f"{text} And more." for key, text in PROFILES.items()}
    refreshed.put_profiles(changed, version=2)
    run_id = refreshed.refresh("all", lambda query, item: 1.0)["run_id"]
    coverage = refreshed.rows("coverage", where=f"run_id = '{run_id}'")
    assert {row["stop_reason"] for row in coverage} == {"candidates_exhausted"}
    assert len(refreshed.labels()) == 3 * 8


def test_a_changed_profile_is_scored_again_and_its_label_goes(refreshed: World) -> None:
    refreshed.put_profiles(PROFILES | {"bob": "Experienced in painting only."}, version=2)
    refreshed.refresh("second")
    removed = refreshed.rows("label_changes", "member_id, qualification_id, reason", "change = 'removed'")
    assert removed == [{"member_id": "bob", "qualification_id": "q-welding", "reason": "profile_changed"}]
    assert refreshed.scored > 0 and refreshed.reused > 0


def test_a_retired_entry_takes_its_labels_with_it(refreshed: World) -> None:
    refreshed.put_catalog(CATALOG, retired=["q-baking"])
    refreshed.refresh("second")
    removed = refreshed.rows("label_changes", "qualification_id, reason", "change = 'removed'")
    assert removed == [{"qualification_id": "q-baking", "reason": "retired"}]


def test_a_member_who_is_gone_loses_the_labels(refreshed: World) -> None:
    refreshed.put_profiles({key: text for key, text in PROFILES.items() if key != "ann"})
    refreshed.refresh("second")
    assert {member for member, _ in refreshed.labels()} == {"bob"}
    reasons = {row["reason"] for row in refreshed.rows("label_changes", where="change = 'removed'")}
    assert reasons == {"member_removed"}


def test_another_threshold_is_another_artifact_and_scores_no_pair_again(
    refreshed: World, registry: Settings, labeler: Path, tmp_path: Path
) -> None:
    strict = tmp_path / "strict"
    strict.mkdir()
    for file in labeler.iterdir():
        (strict / file.name).write_bytes(file.read_bytes())
    artifact = LabelerArtifact.load(labeler).with_changes(threshold=0.95)
    artifact.save(strict)
    register(registry, strict, alias="strict")
    refreshed.settings = refreshed.settings.model_copy(update={"labeler_alias": "strict"})
    refreshed.refresh("second")
    assert refreshed.scored == 0
    assert refreshed.labels() == set()
    reasons = {row["reason"] for row in refreshed.rows("label_changes", where="change = 'removed'")}
    assert reasons == {"threshold"}


def test_data_outside_the_labelers_domain_marks_the_run_unvalidated(refreshed: World) -> None:
    from jobs.domain import OWN_DATA, set_domain
    from jobs.table_reader import pins_of
    from schemas.profiles import PROFILES as PROFILES_TABLE

    set_domain(refreshed.settings.tables, PROFILES_TABLE, OWN_DATA)
    pins = pins_of(refreshed.settings.tables, refreshed.pin("own"))
    assert not pins.is_validated and "profiles (own data)" in pins.unvalidated_reason
