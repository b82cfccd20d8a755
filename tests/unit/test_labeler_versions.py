"""Registered versions: gated, promoted, listed and compared, with a real MLflow on sqlite."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from jobs.cli import app
from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.labeler.evaluate_work import evaluate_work
from jobs.labeler.gate import gate_labeler, gate_of
from jobs.labeler.gate_result import GateLimits, GateResult, faults_of
from jobs.labeler.promote import promote_labeler
from jobs.labeler.registry import EVALUATION_FILES, register, stage_labeler
from jobs.labeler.versions import diff_versions, list_versions
from jobs.mlflow_client import registry_client
from jobs.settings import Settings
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.rounds import RoundRule
from tests.labeler_work import SECRET, write_work

DOMAIN = {"catalog": "made up", "description": "answers drawn at random"}
RELAXED = GateLimits(f1_floor=0.0, balanced_floor=0.0, injection_false_yes=1.0, tie_band_share=1.0)
NAMED = [f"{name}={value}" for name, value in vars(RELAXED).items() if value in (0.0, 1.0)]


def settings_in(home: Path) -> Settings:
    return Settings(home=home, engine_threads=1, _env_file=None)  # type: ignore[call-arg]


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two labelers of different weights, evaluated on the same members."""
    made = [write_work(tmp_path_factory.mktemp(f"work{seed}") / f"tiny{seed}", seed=seed) for seed in (0, 5)]
    rule = RoundRule(candidates_per_round=5, stop_below=0.1)
    for work in made:
        evaluate_work(work, domain=DOMAIN, tie_pairs=40, round_rule=rule)
    return made


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty MLflow database: making one takes seconds, copying it none."""
    home = tmp_path_factory.mktemp("template")
    registry_client(settings_in(home)).search_registered_models()
    return home / "mlflow.db"


@pytest.fixture
def home(database: Path, works: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A fresh registry with both labelers as versions 1 and 2, and no champion."""
    settings = settings_in(tmp_path / "home")
    monkeypatch.setenv("SEMLABEL_HOME", str(settings.home))
    monkeypatch.setenv("SEMLABEL_ENGINE_THREADS", "1")
    settings.home.mkdir()
    shutil.copy(database, settings.home)
    for work in works:
        register(settings, work / "labeler", alias=None)
    return settings


def alias(settings: Settings, name: str = "champion") -> str | None:
    aliases = registry_client(settings).get_registered_model(settings.labeler_name).aliases
    return None if name not in aliases else str(aliases[name])


def figure(result: GateResult, stage: str, start: str) -> Any:
    check = next(check for check in result.checks if check.stage == stage)
    return next(figure for figure in check.figures if figure.name.startswith(start))


def test_a_version_without_a_gate_is_not_promoted(home: Settings) -> None:
    with pytest.raises(CheckFailedError, match="never put through the gate"):
        promote_labeler(home, "1")
    assert alias(home) is None


def test_a_random_labeler_fails_the_gate_with_all_checks_run_and_is_not_promoted(home: Settings) -> None:
    result = gate_labeler(home, "1", limits=GateLimits())
    assert not result.holds
    assert [check.stage for check in result.checks] == ["prompt", "training", "readout", "inference", "integration"]
    assert [check.holds for check in result.checks] == [True, False, False, True, True]
    assert not figure(result, "training", "F1").holds
    with pytest.raises(CheckFailedError, match=r"training: F1 is 0.*limit >= 0\.9"):
        promote_labeler(home, "1")
    assert alias(home) is None
    assert list_versions(home)[1]["gate"] == "failed"


def test_a_gate_that_passes_lets_the_alias_move_and_keeps_the_old_champion_named(home: Settings) -> None:
    for version in ("1", "2"):
        assert gate_labeler(home, version, limits=RELAXED).holds
        report = promote_labeler(home, version)
        assert alias(home) == version
    assert alias(home, "previous_champion") == "1"
    assert (report["previous_version"], report["forced"]) == ("1", None)
    assert report["gate_limits_relaxed"]["f1_floor"] == 0.0
    flips = report["flips"]
    assert flips["n_pairs"] == 60
    assert flips["both_yes"] + flips["both_no"] + flips["yes_to_no"] + flips["no_to_yes"] == 60
    assert json.loads((home.reports / "promotion-2.json").read_text(encoding="utf-8")) == report
    page = (home.reports / "promotion-2.html").read_text(encoding="utf-8")
    why = report["cost"]["why"]
    for told in ("Before it: version 1", "f1_floor 0.0", f"{flips['both_no']}</td>", "balanced agreement", why[1:]):
        assert told in page


def test_a_champion_that_is_promoted_again_moves_nothing_and_keeps_the_report_of_its_promotion(home: Settings) -> None:
    promote_labeler(home, "1", force_reason="the first")
    report = promote_labeler(home, "2", force_reason="the second")
    again = promote_labeler(home, "2", force_reason="once more")
    assert report["moved_to"] == "2" and again == report | {"moved_to": None}
    assert (alias(home), alias(home, "previous_champion")) == ("2", "1")
    assert json.loads((home.reports / "promotion-2.json").read_text(encoding="utf-8")) == report


def test_the_gate_says_the_flips_and_what_it_measured_here(home: Settings) -> None:
    first = gate_labeler(home, "1", limits=RELAXED)
    assert figure(first, "integration", "flips").value == "there is no champion yet"
    promote_labeler(home, "1")
    second = gate_labeler(home, "2", limits=RELAXED)
    assert 0.0 < figure(second, "integration", "flips").value <= 1.0
    assert figure(second, "inference", "pairs a second").value > 0.0
    assert 0.0 <= figure(second, "inference", "canary").value <= 1e-4


def test_a_limit_that_is_not_kept_fails_its_own_check_alone(home: Settings) -> None:
    strict = GateLimits(**(vars(RELAXED) | {"pairs_per_s_floor": 1e9}))
    result = gate_labeler(home, "1", limits=strict)
    assert [check.stage for check in result.checks if not check.holds] == ["inference"]
    assert [fault.split(" is ")[0] for fault in faults_of(result.as_dict())] == ["inference: pairs a second, measured"]


def test_force_needs_a_reason_and_keeps_it(home: Settings) -> None:
    with pytest.raises(CheckFailedError):
        promote_labeler(home, "1", force_reason="")
    report = promote_labeler(home, "1", force_reason="the first <b>labeler</b>")
    assert alias(home) == "1"
    assert report["forced"] == "the first <b>labeler</b>"
    tags = registry_client(home).get_model_version(home.labeler_name, "1").tags
    assert tags["promotion_forced"] == "the first <b>labeler</b>"
    page = (home.reports / "promotion-1.html").read_text(encoding="utf-8")
    assert "Reason: the first &lt;b&gt;labeler" in page and "never put through the gate" in page


def test_a_gate_of_another_artifact_does_not_count(home: Settings) -> None:
    passed = gate_labeler(home, "1", limits=RELAXED).as_dict()
    client = registry_client(home)
    run_id = client.get_model_version(home.labeler_name, "2").run_id
    client.log_text(run_id, json.dumps(passed), "gate/gate.json")
    with pytest.raises(CheckFailedError, match="its gate was of artifact"):
        promote_labeler(home, "2")


def test_a_threshold_only_change_is_a_new_version_with_the_same_scorer_and_must_be_evaluated_anew(
    home: Settings, works: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "stricter"
    shutil.copytree(works[0] / "labeler", folder)
    LabelerArtifact.load(folder).with_changes(threshold=0.9).save(folder)
    version, artifact = register(home, folder, alias=None)
    before = stage_labeler(home, "1").artifact
    assert (version, artifact.scorer_id) == ("3", before.scorer_id)
    assert artifact.artifact_id != before.artifact_id
    found = diff_versions(home, "1", "3")
    assert found["is_same_scorer"]
    assert [d["field"] for d in found["fields"]] == ["threshold"]
    result = gate_labeler(home, "3", limits=RELAXED)
    assert [fault.split(" is ")[0] for fault in faults_of(result.as_dict())] == [
        "readout: threshold that was evaluated"
    ]
    promote_labeler(home, "1", force_reason="to compare with")
    report = promote_labeler(home, "3", force_reason="a test")
    assert (report["cost"]["pairs"], report["cost"]["tokens"]) == (0, 0)
    assert report["flips"]["no_to_yes"] == 0 and report["flips"]["n_pairs"] == 60


def test_another_scorer_is_told_apart(home: Settings) -> None:
    found = diff_versions(home, "1", "2")
    assert not found["is_same_scorer"]
    assert "digests" in found["reuse"] and "scored anew" in found["reuse"]
    assert "digests.model.safetensors" in {d["field"] for d in found["fields"]}
    assert found["evaluation"]


def test_versions_are_listed_newest_first_with_aliases_and_figures(home: Settings, works: list[Path]) -> None:
    promote_labeler(home, "1", force_reason="a test")
    newest, oldest = list_versions(home)
    assert (newest["version"], newest["aliases"], newest["gate"]) == ("2", [], "not gated")
    assert (oldest["version"], oldest["aliases"], oldest["labeler"]) == ("1", ["champion"], "tiny0")
    artifact = LabelerArtifact.load(works[0] / "labeler")
    assert (oldest["artifact_id"], oldest["scorer_id"]) == (artifact.artifact_id, artifact.scorer_id)
    assert (oldest["threshold"], oldest["f1"]) == (artifact.threshold, artifact.evaluation["f1"])


def test_a_labeler_that_was_never_evaluated_fails_for_what_is_missing(home: Settings, tmp_path: Path) -> None:
    from tests.tiny_labeler import write_tiny_labeler

    write_tiny_labeler(tmp_path / "bare", seed=9)
    version, _ = register(home, tmp_path / "bare", alias=None)
    result = gate_labeler(home, version, limits=RELAXED)
    assert not result.holds
    assert "never measured" in figure(result, "training", "F1").note
    assert "never measured" in figure(result, "inference", "tie band").note
    assert figure(result, "inference", "canary").holds


def test_an_artifact_that_changed_in_the_store_fails_every_check(home: Settings) -> None:
    weights = next((home.home / "mlflow-artifacts").rglob("labeler/model.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    results = [gate_labeler(home, version, limits=RELAXED) for version in ("1", "2")]
    broken = next(result for result in results if not result.holds)
    assert [check.holds for check in broken.checks] == [False] * 5
    assert "does not match its digest" in broken.checks[0].figures[0].note


def test_the_upload_has_the_report_and_no_profile_text(home: Settings) -> None:
    stored = [path for path in (home.home / "mlflow-artifacts").rglob("*") if path.is_file()]
    assert {path.name for path in stored} >= set(EVALUATION_FILES)
    assert not [path for path in stored if "borderline" in path.name or SECRET.encode() in path.read_bytes()]


def test_a_version_that_is_not_there_is_named_with_those_that_are(home: Settings) -> None:
    with pytest.raises(MissingRequirementError, match="no version or alias '7'; versions: 1, 2; aliases: none"):
        promote_labeler(home, "7")


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["labeler", *words])


def test_the_command_line_goes_from_gate_to_promotion(home: Settings) -> None:
    refused = run("gate", "1", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["holds"] is False
    assert isinstance(run("promote", "1").exception, CheckFailedError)
    limits = [word for named in NAMED for word in ("--limit", named)]
    assert json.loads(run("gate", "1", "--json", *limits).stdout)["holds"] is True
    assert json.loads(run("promote", "1", "--json").stdout)["version"] == "1"
    assert [row["aliases"] for row in json.loads(run("list", "--json").stdout)] == [[], ["champion"]]
    assert json.loads(run("diff", "1", "2", "--json").stdout)["versions"] == ["1", "2"]


def test_a_person_sees_the_verdict_the_versions_and_the_difference(
    home: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobs.labeler.render import print_diff, print_gate, print_promotion, print_versions

    print_gate(gate_labeler(home, "1", limits=GateLimits()).as_dict())
    print_promotion(promote_labeler(home, "1", force_reason="[to] see it"))
    print_versions(list_versions(home))
    print_diff(diff_versions(home, "1", "champion"))
    told = capsys.readouterr().out
    assert "does not pass the gate" in told and "Single-token answers, split tokens match" in told
    assert "[to] see it" in told
    assert "same scorer: judgments are reused" in told


def test_an_unknown_limit_is_a_wrong_usage(home: Settings) -> None:
    assert run("gate", "1", "--limit", "f2_floor=1").exit_code == 2
    assert run("gate", "1", "--limit", "f1_floor=much").exit_code == 2
    assert gate_of(home, "1") is None


def test_registration_moves_the_champion_for_its_first_version_only(home: Settings, works: list[Path]) -> None:
    assert run("register", str(works[0] / "labeler"), "--alias", "champion").exit_code == 0
    assert isinstance(run("register", str(works[1] / "labeler"), "--alias", "champion").exception, CheckFailedError)
    assert run("register", str(works[1] / "labeler"), "--alias", "challenger").exit_code == 0
    assert (alias(home), alias(home, "challenger")) == ("1", "2")


def test_a_promotions_jobs_find_the_version_and_stop_at_the_gate(home: Settings) -> None:
    from jobs import evaluate_labeler, gate_labeler, promote_labeler

    params = evaluate_labeler.Params(trigger_id="monday", labeler="2")
    found = evaluate_labeler.run(home, params)
    assert found["version"] == "2" and found["run_id"].startswith("labeler_promotion-") and "f1" in found["figures"]
    assert evaluate_labeler.run(home, params)["run_id"] == found["run_id"]
    with pytest.raises(CheckFailedError, match=r"version 2 does not pass the gate:\ntraining: F1 is 0"):
        gate_labeler.run(home, gate_labeler.Params(run_id=found["run_id"], version="2"))
    with pytest.raises(CheckFailedError, match="version 2 is not promoted"):
        promote_labeler.run(home, promote_labeler.Params(run_id=found["run_id"], version="2"))
    assert alias(home) is None


def test_a_promotion_may_start_from_a_work_folder(home: Settings, works: list[Path]) -> None:
    from jobs import evaluate_labeler

    found = evaluate_labeler.run(home, evaluate_labeler.Params(trigger_id="monday", labeler=str(works[1])))
    assert found["version"] == "3", "judged with the default round rule, so another artifact than version 2"
