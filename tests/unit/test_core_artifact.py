"""An artifact is its content: digests are checked first, faults are listed together, identities follow the rules."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from mis_scoring.core.artifact import LabelerArtifact, digests_of
from mis_scoring.core.errors import ArtifactError, DataError
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.rounds import RoundRule


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An artifact whose checkpoint files are plain bytes: nothing here loads a model."""
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes(name.encode())
    _artifact(tmp_path).save(tmp_path)
    return tmp_path


def _artifact(folder: Path) -> LabelerArtifact:
    return LabelerArtifact(
        name="small",
        prompt=COMPACT,
        label_tokens={"yes": "YES", "no": "NO"},
        numeric_profile={"dtype": "float32", "quantisation": "none", "readout": "float32"},
        threshold=0.5,
        round_rule=RoundRule(candidates_per_round=50, stop_below=0.02),
        tie_eps=1e-5,
        domain={"catalog": "ESCO v1.1.1"},
        evaluation={"f1": 0.9, "n_pairs": 1000},
        digests=digests_of(folder),
    )


def _edit(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "labeler.json").read_text())
    (folder / "labeler.json").write_text(json.dumps(content | changes))


def test_a_saved_artifact_loads_as_itself(folder: Path) -> None:
    loaded = LabelerArtifact.load(folder)
    assert loaded == _artifact(folder)
    assert loaded.artifact_id == _artifact(folder).artifact_id


def test_a_card_may_stand_beside_it(folder: Path) -> None:
    (folder / "README.md").write_text("card")
    assert LabelerArtifact.load(folder) == _artifact(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_another_checkpoint_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"swapped")
    with pytest.raises(ArtifactError, match=f"{name} does not match its digest"):
        LabelerArtifact.load(folder)


@pytest.mark.parametrize("name", ["model.pkl", "pytorch_model.bin", "modeling_x.py", "subfolder"])
def test_anything_but_safetensors_and_json_is_refused(folder: Path, name: str) -> None:
    (folder / name).mkdir() if name == "subfolder" else (folder / name).write_bytes(b"")
    with pytest.raises(ArtifactError, match=f"{name} does not belong here"):
        LabelerArtifact.load(folder)


def test_all_faults_are_listed_at_once(folder: Path) -> None:
    _edit(folder, threshold=1.5, tie_eps=-1, label_tokens={"yes": "YES"}, round_rule={"candidates_per_round": 0})
    (folder / "model.pkl").write_bytes(b"")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ArtifactError) as caught:
        LabelerArtifact.load(folder)
    faults = "\n".join(caught.value.faults)
    for named in ("threshold is 1.5", "tie_eps: it is -1", "label_tokens", "round_rule", "model.pkl", "tokenizer.json"):
        assert named in faults


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", 3),
        ("name", ""),
        ("threshold", "0.5"),
        ("threshold", True),
        ("threshold", float("nan")),
        ("threshold", 1.0),
        ("tie_eps", float("nan")),
        ("tie_eps", -1e-9),
        ("tie_eps", True),
        ("label_tokens", ["yes", "no"]),
        ("label_tokens", {"yes": 1, "no": 2}),
        ("label_tokens", {"yes": "YES", "no": "YES"}),
        ("numeric_profile", {"dtype": "float32"}),
        ("prompt", None),
        ("prompt", dataclasses.asdict(COMPACT) | {"query_suffix": 5}),
        ("round_rule", {"candidates_per_round": 1.5, "stop_below": 0.1}),
        ("round_rule", {"candidates_per_round": 0, "stop_below": 0.1}),
        ("round_rule", {"candidates_per_round": 50, "stop_below": "0.1"}),
        ("domain", None),
        ("evaluation", []),
        ("evaluation", {"f1": float("nan")}),
        ("digests", []),
        ("digests", {}),
    ],
)
def test_a_field_without_a_meaning_is_a_fault_that_names_it(folder: Path, field: str, value: Any) -> None:
    _edit(folder, **{field: value})
    with pytest.raises(ArtifactError) as caught:
        LabelerArtifact.load(folder)
    assert all(field in fault or "digest" in fault for fault in caught.value.faults)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "\xff"])
def test_a_content_that_is_no_json_object_is_a_fault(folder: Path, text: str) -> None:
    (folder / "labeler.json").write_text(text)
    with pytest.raises(ArtifactError, match=r"labeler\.json: it is no JSON"):
        LabelerArtifact.load(folder)


def test_missing_and_unknown_fields_are_named(folder: Path) -> None:
    content = json.loads((folder / "labeler.json").read_text())
    del content["threshold"]
    (folder / "labeler.json").write_text(json.dumps(content | {"cutoff": 0.5}))
    with pytest.raises(ArtifactError) as caught:
        LabelerArtifact.load(folder)
    assert caught.value.faults == ["labeler.json: cutoff is unknown", "labeler.json: threshold is missing"]


def test_a_folder_that_is_not_there_lists_its_files(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError) as caught:
        LabelerArtifact.load(tmp_path / "nowhere")
    assert caught.value.faults == [
        f"{name} is missing" for name in ("config.json", "labeler.json", "model.safetensors", "tokenizer.json")
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", dataclasses.replace(COMPACT, query_suffix="\nEntry:")),
        ("label_tokens", {"yes": "Yes", "no": "No"}),
        ("numeric_profile", {"dtype": "bfloat16", "quantisation": "none", "readout": "float32"}),
        ("digests", {"config.json": "0", "model.safetensors": "1", "tokenizer.json": "2"}),
    ],
)
def test_what_changes_a_score_changes_both_identities(folder: Path, field: str, value: Any) -> None:
    before, after = _artifact(folder), dataclasses.replace(_artifact(folder), **{field: value})
    assert after.scorer_id != before.scorer_id
    assert after.artifact_id != before.artifact_id


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("threshold", 0.6),
        ("round_rule", RoundRule(candidates_per_round=50, stop_below=0.03)),
        ("tie_eps", 0.0),
        ("evaluation", {"f1": 0.8}),
        ("domain", {"catalog": "own"}),
    ],
)
def test_what_changes_a_decision_keeps_the_scorer(folder: Path, field: str, value: Any) -> None:
    before, after = _artifact(folder), dataclasses.replace(_artifact(folder), **{field: value})
    assert after.scorer_id == before.scorer_id
    assert after.artifact_id != before.artifact_id


def test_with_changes_makes_another_artifact_of_the_same_scorer(folder: Path) -> None:
    rule = RoundRule(candidates_per_round=10, stop_below=0.5)
    before = _artifact(folder)
    after = before.with_changes(threshold=0.7, round_rule=rule)
    assert (after.threshold, after.round_rule, after.scorer_id) == (0.7, rule, before.scorer_id)
    assert before.with_changes() == before


def test_a_value_without_a_canonical_form_has_no_identity(folder: Path) -> None:
    with pytest.raises(DataError, match="no canonical form"):
        _ = dataclasses.replace(_artifact(folder), evaluation={"f1": float("nan")}).artifact_id
