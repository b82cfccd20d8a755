"""Find the labeler that is to be promoted: a registered version, or a work folder, judged and registered first."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.labeler.evaluate_work import evaluate_work
from jobs.labeler.registry import register, resolve_version, stage_labeler
from jobs.pins import run_id_of
from jobs.settings import Settings
from mis_scoring.core.artifact import LabelerArtifact

KIND = "labeler_promotion"


@dataclass(frozen=True, kw_only=True)
class Params:
    """What is to be promoted, and the promotion's own identity.

    Attributes:
        labeler: a version's number, an alias, or a work folder that `semlabel labeler train` left.
    """

    trigger_id: str
    labeler: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """Return version, artifact_id and the evaluation's leading figures.

    Raises:
        MissingRequirementError: there is no such version.
        FaultsError, ArtifactError: lists what is wrong with the folder.
    """
    work = Path(params.labeler)
    version, artifact = _evaluated(settings, work) if work.is_dir() else _registered(settings, params.labeler)
    figures = {name: value for name, value in artifact.evaluation.items() if isinstance(value, int | float)}
    return {
        "run_id": run_id_of(KIND, params.trigger_id, settings.environment),
        "version": version,
        "artifact_id": artifact.artifact_id,
        "scorer_id": artifact.scorer_id,
        "figures": figures,
    }


def _registered(settings: Settings, named: str) -> tuple[str, LabelerArtifact]:
    found = stage_labeler(settings, resolve_version(settings, named))
    return found.version, found.artifact


def _evaluated(settings: Settings, work: Path) -> tuple[str, LabelerArtifact]:
    domain = {"catalog": "own data", "description": "members and candidates of the work folder"}
    evaluate_work(
        work,
        domain=domain,
        engine=settings.engine,
        engine_options=settings.engine_options,
        threads=settings.engine_threads,
    )
    return register(settings, work / "labeler", alias=None)
