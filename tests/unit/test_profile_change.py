"""What another numeric profile of the same model did to its labels: measured from stored margins, held to limits."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jobs.labeler.evaluate_work import evaluate_work
from jobs.labeler.gate import champion_of, gate_labeler
from jobs.labeler.gate_result import GateFigure, GateLimits, GateResult
from jobs.labeler.profile_change import NotCompared, ProfileChange, profile_change
from jobs.labeler.profile_checks import profile_figures
from jobs.labeler.promote import promote_labeler
from jobs.labeler.registry import register, stage_labeler
from jobs.labeler.render import print_gate
from jobs.mlflow_client import registry_client
from jobs.settings import Settings
from mis_scoring.core.artifact import CHECKPOINT_FILES, LabelerArtifact, digests_of
from mis_scoring.core.errors import ArtifactError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.rounds import RoundRule
from mis_scoring.engines.prefill.calibrate import calibrated_profile, write_profile
from mis_scoring.engines.prefill.fp8 import MLP
from mis_scoring.evaluation.margin_change import MarginChange
from tests.labeler_work import write_work
from tests.tiny_labeler import write_tiny_labeler

DOMAIN = {"catalog": "made up", "description": "answers drawn at random"}
RULE = RoundRule(candidates_per_round=5, stop_below=0.1)
ON_CPU = {"device": "cpu", "max_forward_tokens": 2_048, "token_budget": 1_024, "max_item_tokens": 200}
IN_FP8 = {**ON_CPU, "attention": "tiled", "verify": False, "quantisation": MLP}
LOOSE = GateLimits(
    profile_flipped_share=1.0,
    profile_category_flipped_share=1.0,
    profile_f1_loss=1.0,
    profile_category_f1_loss=1.0,
    profile_calibration_rise=1.0,
)


def change(before: list[float], after: list[float], answers: list[int]) -> MarginChange:
    given = (np.array(margins, np.float32) for margins in (before, after))
    return MarginChange.of(*given, np.array(answers, np.int8), cuts=(0.0, 0.5))


def test_flips_quality_and_margins_are_counted_each_at_its_own_cut() -> None:
    found = change([1.0, 1.0, -1.0, -1.0, 1.0], [1.0, 0.4, 2.0, -1.0, 0.0], [1, 0, 1, 0, -1])
    assert (found.n_flips, found.n_became_right, found.n_became_wrong) == (3, 2, 0)
    assert (found.before.f1, found.after.f1) == (0.5, 1.0)
    assert found.f1_loss == -0.5
    assert found.largest_error == 3.0 and found.p99_error < 3.0
    sure = change([0.0, 0.0], [60.0, 60.0], [1, 0])
    assert sure.calibration_rise == pytest.approx(0.5)


def test_a_category_that_nothing_supports_and_nobody_accepts_has_no_f1() -> None:
    assert np.isnan(change([-1.0], [-2.0], [0]).f1_loss)


def compared(*, is_more_exact: bool = False, by_category: Any = None, **whole: Any) -> ProfileChange:
    still = {"before": [1.0] * 4, "after": [1.0] * 4, "answers": [1, 1, 0, 0]}
    return ProfileChange(
        version="1",
        profile="bfloat16",
        is_more_exact=is_more_exact,
        whole=change(**(still | whole)),
        by_category=by_category,
        pairs_per_s=((8000.0, "prefill"), (13000.0, "prefill")),
    )


def artifact_in(folder: Path, **profile: str) -> LabelerArtifact:
    made = write_tiny_labeler(folder)
    return replace(made, numeric_profile={**made.numeric_profile, **profile})


@pytest.fixture(scope="module")
def fp8(tmp_path_factory: pytest.TempPathFactory) -> LabelerArtifact:
    return artifact_in(tmp_path_factory.mktemp("fp8") / "labeler", dtype="bfloat16", quantisation=MLP)


def failing(figures: list[GateFigure]) -> list[str]:
    return [figure.name for figure in figures if not figure.holds]


def test_nothing_that_changed_keeps_every_limit_and_is_told(fp8: LabelerArtifact) -> None:
    figures = profile_figures(compared(by_category={"skill": change([1.0], [1.0], [1])}), fp8, GateLimits())
    assert failing(figures) == []
    told = {figure.name: figure.value for figure in figures}
    assert told["profile, compared with"] == "version 1, bfloat16"
    assert told["profile, gained and lost"] == "0 pairs became right, 0 wrong"
    assert told["profile, labels/s of the evaluations"] == "13,000 (prefill), before 8,000 (prefill)"


def test_what_is_lost_fails_whole_and_in_its_own_category_alone(fp8: LabelerArtifact) -> None:
    worse = {"before": [1.0, 1.0, -1.0, -1.0], "after": [-9.0] * 4, "answers": [1, 1, 0, 0]}
    same = {"before": [1.0, -1.0], "after": [1.0, -1.0], "answers": [1, 0]}
    found = compared(by_category={"licence": change(**same), "skill": change(**worse)}, **worse)
    figures = profile_figures(found, fp8, GateLimits())
    wanted = ["flips", "F1 lost", "calibration error, rise", "flips, skill", "F1 lost, skill"]
    assert failing(figures) == [f"profile, {name}" for name in wanted]
    assert failing(profile_figures(found, fp8, LOOSE)) == []


def test_a_category_without_f1_is_told_and_holds(fp8: LabelerArtifact) -> None:
    figures = profile_figures(compared(by_category={"skill": change([-1.0], [-2.0], [0])}), fp8, GateLimits())
    assert next(f.value for f in figures if f.name == "profile, F1 lost, skill") == "no F1: a ratio of nothing"
    assert failing(figures) == []


def test_one_flip_condemns_no_category(fp8: LabelerArtifact) -> None:
    by_category = {"skill": change([1.0, 1.0, -1.0], [1.0, 0.0, -1.0], [1, 1, 0])}
    assert failing(profile_figures(compared(by_category=by_category), fp8, GateLimits())) == []


def test_a_more_exact_profile_is_told_what_changes_and_has_no_limit(fp8: LabelerArtifact) -> None:
    found = compared(is_more_exact=True, before=[1.0] * 4, after=[-9.0] * 4, answers=[1, 1, 1, 1])
    assert failing(profile_figures(found, replace(fp8, evaluation={}), GateLimits())) == []


def test_categories_that_no_evaluation_stored_were_never_measured(fp8: LabelerArtifact) -> None:
    (figure,) = [figure for figure in profile_figures(compared(), fp8, GateLimits()) if not figure.holds]
    assert figure.name == "profile, flips and F1 by category"
    assert "never measured: `semlabel labeler evaluate`" in figure.note


def test_a_quantised_profile_that_is_compared_with_nothing_does_not_pass(fp8: LabelerArtifact, tmp_path: Path) -> None:
    alone = NotCompared(reason="no other version")
    (figure,) = profile_figures(alone, fp8, GateLimits())
    assert not figure.holds and "no other version. bfloat16 fp8-mlp is allowed only as measured" in figure.note
    (figure,) = profile_figures(alone, artifact_in(tmp_path / "plain", dtype="bfloat16"), GateLimits())
    assert figure.holds and figure.value == "no other version"


def test_an_artifacts_own_limits_hold_where_they_are_stricter(fp8: LabelerArtifact) -> None:
    own = {"profile_flipped_share": 1e-4, "profile_f1_loss": 0.5, "f1_floor": 0.95, "balanced_floor": 0.1}
    limits = GateLimits().for_artifact(replace(fp8, gate_limits=own))
    assert (limits.profile_flipped_share, limits.f1_floor) == (1e-4, 0.95)
    assert (limits.profile_f1_loss, limits.balanced_floor) == (0.002, 0.95)
    with pytest.raises(ArtifactError, match="no limit 'f2_floor'"):
        GateLimits().for_artifact(replace(fp8, gate_limits={"f2_floor": 1.0}))


@pytest.mark.parametrize(
    ("profile", "own", "wanted"),
    [
        ({}, {}, 1e-3),
        ({}, {"margin_difference": 1e-4}, 1e-4),
        ({}, {"margin_difference": 0.5}, 1e-3),
        ({"dtype": "bfloat16"}, {}, None),
        ({"dtype": "bfloat16"}, {"margin_difference": 0.5}, 0.5),
        ({"dtype": "bfloat16", "quantisation": MLP}, {}, None),
    ],
)
def test_how_far_packing_may_move_a_margin_follows_the_numeric_profile(
    fp8: LabelerArtifact, profile: dict[str, str], own: dict[str, float], wanted: float | None
) -> None:
    plain = {"dtype": "float32", "quantisation": "none", "readout": "float32"}
    artifact = replace(fp8, numeric_profile=plain | profile, gate_limits=own)
    assert GateLimits().for_artifact(artifact).margin_limit(artifact) == wanted
    assert GateLimits(margin_difference=0.25).margin_limit(artifact) == 0.25


def evaluated(folder: Path, name: str, **options: Any) -> Path:
    """Evaluate the model of a work folder, or an artifact of it, in one profile; return the artifact."""
    work = write_work(folder / name)
    evaluate_work(work, domain=DOMAIN, tie_pairs=40, round_rule=RULE, **options)
    return work / "labeler"


def to_fp8(plain: Path, folder: Path) -> Path:
    """Copy an artifact as one in fp8 with limits of its own; its evaluation is still the old."""
    folder.mkdir()
    for name in CHECKPOINT_FILES:
        shutil.copyfile(plain / name, folder / name)
    requests = [([3, 4, 5, 6], [[7, 8], [9]])]
    write_profile(folder, calibrated_profile(folder, requests, LabelTokens(yes=1, no=2), quantisation=MLP, **ON_CPU))
    made = LabelerArtifact.load(plain)
    profile = {**made.numeric_profile, "dtype": "bfloat16", "quantisation": MLP}
    limits = {"profile_flipped_share": 0.001}
    replace(made, numeric_profile=profile, digests=digests_of(folder), gate_limits=limits).save(folder)
    return folder


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One model in float32, bfloat16 and fp8, evaluated on the same members."""
    folder = tmp_path_factory.mktemp("profiles")
    exact = evaluated(folder, "exact")
    half = evaluated(folder, "half", engine="prefill", engine_options={**ON_CPU, "attention": "tiled", "verify": False})
    source = to_fp8(half, folder / "calibrated")
    eighth = evaluated(folder, "eighth", engine="prefill", engine_options=IN_FP8, artifact_folder=source)
    return [exact, half, eighth]


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory, profiles: list[Path]) -> Path:
    """A registry with the three as versions 1 to 3, and another model as version 4."""
    home = tmp_path_factory.mktemp("registered") / "home"
    other = write_work(home.parent / "other", seed=5)
    evaluate_work(other, domain=DOMAIN, tie_pairs=40, round_rule=RULE)
    settings = settings_in(home)
    for folder in (*profiles, other / "labeler"):
        register(settings, folder, alias=None)
    return home


def settings_in(home: Path) -> Settings:
    return Settings(home=home, engine="prefill", engine_options=IN_FP8, engine_threads=1, _env_file=None)  # type: ignore[call-arg]


@pytest.fixture
def settings(registered: Path) -> Settings:
    return settings_in(registered)


def found(settings: Settings, version: str) -> ProfileChange | NotCompared:
    return profile_change(settings, champion_of(settings), stage_labeler(settings, version))


def test_an_evaluation_keeps_its_artifacts_limits_and_stores_each_pairs_category(profiles: list[Path]) -> None:
    assert LabelerArtifact.load(profiles[2]).gate_limits == {"profile_flipped_share": 0.001}
    with np.load(profiles[2].parent / "evaluation" / "margins.npz", allow_pickle=False) as stored:
        assert set(stored["test.categories"]) == {"skill", "licence"}
        assert stored["test.categories"].shape == stored["test"].shape


def test_a_profile_is_compared_with_the_newest_more_exact_one_of_the_same_model(settings: Settings) -> None:
    eighth, half = found(settings, "3"), found(settings, "2")
    assert isinstance(eighth, ProfileChange) and isinstance(half, ProfileChange)
    assert (eighth.version, eighth.profile, eighth.is_more_exact) == ("2", "bfloat16", False)
    assert (half.version, half.profile) == ("1", "float32")
    assert set(eighth.by_category or ()) == {"skill", "licence"}
    assert sum(change.flips.n_pairs for change in (eighth.by_category or {}).values()) == 60
    assert eighth.whole.largest_error > half.whole.largest_error > 0.0
    for version in ("1", "4"):
        assert isinstance(found(settings, version), NotCompared)


def registered_as(settings: Settings, source: Path, work: Path, **changes: Any) -> str:
    """Register an artifact that differs, with the evaluation of the one that it was; return its version."""
    shutil.copytree(source.parent, work)
    other = replace(LabelerArtifact.load(source), **changes)
    other.save(work / "labeler")
    path = work / "evaluation" / "evaluation.json"
    figures = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(figures | {"artifact_id": other.artifact_id}), encoding="utf-8")
    return register(settings, work / "labeler", alias=None)[0]


def test_neither_an_equally_exact_version_nor_a_champion_of_the_same_profile_is_compared_with(
    settings: Settings, profiles: list[Path], tmp_path: Path
) -> None:
    profile = LabelerArtifact.load(profiles[2]).numeric_profile
    registered_as(
        settings, profiles[2], tmp_path / "other", numeric_profile={**profile, "quantisation": "fp8-all"}, threshold=0.7
    )
    same = registered_as(settings, profiles[2], tmp_path / "same", threshold=0.9)
    promote_labeler(settings, same, force_reason="a test")
    try:
        answer = found(settings, "3")
        assert isinstance(answer, ProfileChange) and answer.version == "2"
    finally:
        registry_client(settings).delete_registered_model_alias(settings.labeler_name, settings.labeler_alias)


def figures_of(result: GateResult) -> dict[str, GateFigure]:
    return {figure.name: figure for check in result.checks for figure in check.figures}


def test_the_gate_holds_fp8_to_the_artifacts_limits_and_says_what_it_gained_and_lost(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    result = gate_labeler(settings, "3", limits=LOOSE)
    figures = figures_of(result)
    assert result.limits.profile_flipped_share == 0.001
    assert figures["profile, flips"].limit == "<= 0.001"
    assert figures["profile, flips, skill"].limit in ("<= 1", "reported")
    assert figures["margin, packed against single, evaluation"].limit == "reported"
    print_gate(result.as_dict())
    told = " ".join(capsys.readouterr().out.split())
    assert "version 2, bfloat16" in told and "pairs became right" in told and "profile, margin error, largest" in told


def test_a_champion_of_the_same_model_is_what_is_compared_with(settings: Settings) -> None:
    promote_labeler(settings, "3", force_reason="a test")
    try:
        half = found(settings, "2")
        assert isinstance(half, ProfileChange)
        assert (half.version, half.profile, half.is_more_exact) == ("3", "bfloat16 fp8-mlp", True)
    finally:
        registry_client(settings).delete_registered_model_alias(settings.labeler_name, settings.labeler_alias)


def test_versions_that_were_evaluated_on_other_members_are_named(settings: Settings, tmp_path: Path) -> None:
    other = write_work(tmp_path / "work", n_members=3)
    source = LabelerArtifact.load(stage_labeler(settings, "3").folder)
    evaluate_work(
        other,
        domain=DOMAIN,
        tie_pairs=10,
        round_rule=RULE,
        engine="prefill",
        engine_options=IN_FP8,
        artifact_folder=stage_labeler(settings, "3").folder,
    )
    version, artifact = register(settings, other / "labeler", alias=None)
    assert artifact.scorer_id == source.scorer_id
    answer = found(settings, version)
    assert isinstance(answer, NotCompared)
    assert answer.reason.startswith("version 2: it was evaluated on different members; version 1")


def test_an_artifact_says_its_limits_only_where_it_has_some(fp8: LabelerArtifact) -> None:
    assert "gate_limits" not in fp8.as_dict()
    strict = replace(fp8, gate_limits={"f1_floor": 0.99})
    assert strict.as_dict()["gate_limits"] == {"f1_floor": 0.99}
    assert strict.scorer_id == fp8.scorer_id and strict.artifact_id != fp8.artifact_id
    assert json.loads(json.dumps(strict.as_dict())) == strict.as_dict()
