"""An artifact folder: what identifies it, and what is refused before anything is loaded."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mis_scoring.core.artifact import CHECKPOINT_FILES, LabelerArtifact, digests_of
from mis_scoring.core.errors import ArtifactError
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.rounds import RoundRule


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in CHECKPOINT_FILES:
        (tmp_path / name).write_text(f"content of {name}")
    (tmp_path / "README.md").write_text("# Card\n")
    made = LabelerArtifact(
        name="sample",
        prompt=COMPACT,
        label_tokens={"yes": "YES", "no": "NO"},
        numeric_profile={"dtype": "float32", "quantisation": "none", "readout": "float32"},
        threshold=0.5,
        round_rule=RoundRule(candidates_per_round=50, stop_below=0.1),
        tie_eps=1e-4,
        domain={"catalog": "a catalog", "description": "for tests"},
        evaluation={"accuracy": 0.9},
        digests=digests_of(tmp_path),
    )
    made.save(tmp_path)
    return tmp_path


def change_labeler(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / "labeler.json").read_text())
    change(content)
    (folder / "labeler.json").write_text(json.dumps(content))


def faults_of(folder: Path) -> list[str]:
    with pytest.raises(ArtifactError) as caught:
        LabelerArtifact.load(folder)
    return caught.value.faults


def test_a_saved_artifact_loads_as_it_was(folder: Path) -> None:
    loaded = LabelerArtifact.load(folder)
    loaded.save(folder)
    again = LabelerArtifact.load(folder)
    assert again == loaded
    assert (again.scorer_id, again.artifact_id) == (loaded.scorer_id, loaded.artifact_id)


def test_the_card_is_optional(folder: Path) -> None:
    (folder / "README.md").unlink()
    assert LabelerArtifact.load(folder).name == "sample"


@pytest.mark.parametrize(
    "changes", [{"threshold": 0.7}, {"round_rule": RoundRule(candidates_per_round=20, stop_below=0.2)}]
)
def test_another_threshold_or_round_rule_is_another_artifact_with_the_same_scorer(
    folder: Path, changes: dict[str, Any]
) -> None:
    artifact = LabelerArtifact.load(folder)
    changed = artifact.with_changes(**changes)
    assert changed.scorer_id == artifact.scorer_id
    assert changed.artifact_id != artifact.artifact_id
    assert artifact.with_changes().artifact_id == artifact.artifact_id


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", replace(COMPACT, query_prefix="Member:\n")),
        ("label_tokens", {"yes": "Yes", "no": "No"}),
        ("numeric_profile", {"dtype": "bfloat16", "quantisation": "none", "readout": "float32"}),
        ("digests", {"model.safetensors": "0", "config.json": "1", "tokenizer.json": "2"}),
    ],
)
def test_what_changes_a_score_changes_the_scorer(folder: Path, field: str, value: Any) -> None:
    artifact = LabelerArtifact.load(folder)
    assert replace(artifact, **{field: value}).scorer_id != artifact.scorer_id


@pytest.mark.parametrize(("field", "value"), [("tie_eps", 0.0), ("evaluation", {}), ("domain", {}), ("name", "other")])
def test_what_changes_no_score_leaves_the_scorer(folder: Path, field: str, value: Any) -> None:
    artifact = LabelerArtifact.load(folder)
    changed = replace(artifact, **{field: value})
    assert changed.scorer_id == artifact.scorer_id
    assert changed.artifact_id != artifact.artifact_id


@pytest.mark.parametrize("name", CHECKPOINT_FILES)
def test_a_file_that_is_not_the_one_described_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text("another content")
    (fault,) = faults_of(folder)
    assert fault.startswith(f"{name} does not match its digest")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pkl", "python_model.pickle", "modeling.py", "notes.txt"])
def test_a_pickle_or_an_unknown_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"anything")
    (fault,) = faults_of(folder)
    assert fault.startswith(f"{name} does not belong here")


def test_every_fault_is_listed_at_once(folder: Path) -> None:
    (folder / "model.pkl").write_bytes(b"anything")
    (folder / "tokenizer.json").unlink()

    def spoil(content: dict[str, Any]) -> None:
        content["threshold"] = 1.5
        content["tie_eps"] = -1
        content["round_rule"]["candidates_per_round"] = 0
        content["label_tokens"]["maybe"] = "MAYBE"

    change_labeler(folder, spoil)
    found = "\n".join(faults_of(folder))
    for part in ("model.pkl", "tokenizer.json is missing", "1.5", "tie_eps", "candidates_per_round", "maybe"):
        assert part in found
    assert len(faults_of(folder)) == 6


def test_missing_and_unknown_fields_are_named(folder: Path) -> None:
    change_labeler(folder, lambda content: content.update(extra=1, more=2) or content.pop("digests"))
    assert faults_of(folder) == [
        "labeler.json: extra is unknown",
        "labeler.json: more is unknown",
        "labeler.json: digests is missing",
    ]


@pytest.mark.parametrize("text", ["{", "not json"])
def test_a_broken_labeler_json_is_refused(folder: Path, text: str) -> None:
    (folder / "labeler.json").write_text(text)
    (fault,) = faults_of(folder)
    assert "no JSON" in fault


def test_a_folder_that_is_not_there_is_refused_with_all_that_is_missing(tmp_path: Path) -> None:
    assert len(faults_of(tmp_path / "nowhere")) == 4
