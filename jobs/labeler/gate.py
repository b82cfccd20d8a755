"""Put a registered version through the five checks of the paper's Table 1, and keep the result with it in MLflow."""

import json
from datetime import UTC, datetime
from typing import Any

from jobs.labeler.flips import flips_between
from jobs.labeler.gate_checks import CHECKS, Gated, run_checks
from jobs.labeler.gate_result import GateCheck, GateFigure, GateLimits, GateResult
from jobs.labeler.profile_change import profile_change
from jobs.labeler.registry import PinnedLabeler, aliases_of, resolve_version, stage_labeler
from jobs.mlflow_client import read_json, registry_client
from jobs.settings import Settings
from mis_scoring.core.errors import ArtifactError

GATE_PATH = "gate"
GATE_FILE = f"{GATE_PATH}/gate.json"
PASSED, FAILED = "passed", "failed"


def gate_labeler(settings: Settings, named: str, *, limits: GateLimits) -> GateResult:
    """Run all checks and store the result as an artifact of the version's run, and as its tags.

    Args:
        named: a version's number or alias.
        limits: the artifact's own hold where they are stricter.
    Raises:
        MissingRequirementError: there is no such version.
    """
    version = resolve_version(settings, named)
    tags = registry_client(settings).get_model_version(settings.labeler_name, version).tags
    limits, checks = _checks(settings, version, tags["artifact_id"], limits)
    result = GateResult(
        version=version,
        artifact_id=tags["artifact_id"],
        scorer_id=tags["scorer_id"],
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        limits=limits,
        checks=checks,
    )
    _store(settings, result)
    return result


def gate_of(settings: Settings, version: str) -> dict[str, Any] | None:
    """Return the stored result of a version's last gate; None where there is none."""
    client = registry_client(settings)
    run_id = str(client.get_model_version(settings.labeler_name, version).run_id)
    if GATE_FILE not in [file.path for file in client.list_artifacts(run_id, GATE_PATH)]:
        return None
    return read_json(client, run_id, GATE_FILE)


def champion_of(settings: Settings) -> PinnedLabeler | None:
    """Return the version that the deployment's alias names; None where there is none."""
    version = aliases_of(registry_client(settings), settings.labeler_name).get(settings.labeler_alias)
    return None if version is None else stage_labeler(settings, version)


def _checks(
    settings: Settings, version: str, registered_id: str, limits: GateLimits
) -> tuple[GateLimits, list[GateCheck]]:
    """Return the limits that held and the checks."""
    try:
        labeler = stage_labeler(settings, version)
        limits = limits.for_artifact(labeler.artifact)
    except ArtifactError as error:  # nothing of it can be looked at
        figure = GateFigure.failed("the artifact, loaded by digest", error)
        return limits, [GateCheck(stage=stage, asks=asks, figures=[figure]) for stage, (asks, _) in CHECKS.items()]
    champion = champion_of(settings)
    gated = Gated(
        folder=labeler.folder,
        artifact=labeler.artifact,
        registered_id=registered_id,
        engine_name=settings.engine,
        threads=settings.engine_threads,
        engine_options=settings.engine_options,
        limits=limits,
        flips=flips_between(settings, champion, labeler),
        profile=profile_change(settings, champion, labeler),
    )
    return limits, run_checks(gated)


def _store(settings: Settings, result: GateResult) -> None:
    client = registry_client(settings)
    run_id = str(client.get_model_version(settings.labeler_name, result.version).run_id)
    client.log_text(run_id, json.dumps(result.as_dict(), indent=2, ensure_ascii=False), GATE_FILE)
    tags = {"gate": PASSED if result.holds else FAILED, "gate_artifact_id": result.artifact_id, "gated_at": result.at}
    for name, value in tags.items():
        client.set_model_version_tag(settings.labeler_name, result.version, name, value)
