"""The labeler in MLflow: one registered model, a version an artifact, found by alias, pinned by version and digest.

An artifact is a folder of safetensors and JSON; it is copied to the staging root under its digest when a run pins it,
so that jobs without MLflow (Ray, a GPU environment) read it from there.
"""

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.errors import MissingRequirementError
from jobs.mlflow_client import experiment_id, registry_client
from jobs.settings import Settings
from mis_scoring.core.artifact import LabelerArtifact

if TYPE_CHECKING:
    from mlflow import MlflowClient

ARTIFACT_PATH = "labeler"
EVALUATION_PATH = "evaluation"
EVALUATION_FILES = ("evaluation.json", "report.html", "margins.npz")  # the borderline pairs are personal data: never


@dataclass(frozen=True, kw_only=True)
class PinnedLabeler:
    """A labeler version resolved once.

    Attributes:
        folder: the artifact's files under the staging root.
    """

    name: str
    version: str
    folder: Path
    artifact: LabelerArtifact


def register(settings: Settings, folder: Path, *, alias: str | None) -> tuple[str, LabelerArtifact]:
    """Register an artifact folder as a new version, unless a version with its digest exists.

    Args:
        alias: what the version is called from now on; None moves no alias.
    Returns:
        the version and the artifact.
    Raises:
        ArtifactError: lists every fault of the folder.
    """
    artifact = LabelerArtifact.load(folder)
    client = registry_client(settings)
    version = _version_of(client, settings.labeler_name, artifact.artifact_id)
    if version is None:
        version = _create_version(client, settings, folder, artifact)
    if alias is not None:
        client.set_registered_model_alias(settings.labeler_name, alias, version)
    return version, artifact


def has_labeler(settings: Settings) -> bool:
    """Whether the alias resolves to a version."""
    return _resolve_alias(registry_client(settings), settings) is not None


def champion_version(settings: Settings) -> str | None:
    """Return the version that has the alias now; None where no version has it, or MLflow is away."""
    return _resolve_alias(registry_client(settings), settings)


def pin_labeler(settings: Settings) -> PinnedLabeler:
    """Resolve the alias once and leave the artifact, digests checked, under the staging root.

    Raises:
        MissingRequirementError: no version has the alias.
        ArtifactError: the files do not match their digests.
    """
    client = registry_client(settings)
    version = _resolve_alias(client, settings)
    if version is None:
        raise MissingRequirementError(
            f"MLflow ({settings.tracking_uri}) has no {settings.labeler_name}@{settings.labeler_alias}. "
            "`semlabel labeler register FOLDER --alias champion` registers one; `semlabel sample` brings its own."
        )
    return stage_labeler(settings, version)


def stage_labeler(settings: Settings, version: str) -> PinnedLabeler:
    """Leave a version's artifact, digests checked, under the staging root.

    Raises:
        ArtifactError: the files do not match their digests.
    """
    from mlflow.artifacts import download_artifacts

    source = str(registry_client(settings).get_model_version(settings.labeler_name, version).source)
    with tempfile.TemporaryDirectory() as scratch:
        downloaded = Path(download_artifacts(artifact_uri=source, dst_path=scratch, tracking_uri=settings.tracking_uri))
        artifact = LabelerArtifact.load(downloaded)
        folder = settings.staging / "artifacts" / artifact.artifact_id
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(dir=folder.parent))
            shutil.copytree(downloaded, partial, dirs_exist_ok=True)
            _rename_unless_there(partial, folder)
    return PinnedLabeler(name=settings.labeler_name, version=version, folder=folder, artifact=artifact)


def resolve_version(settings: Settings, named: str) -> str:
    """Return the number of a version named by number or alias.

    Raises:
        MissingRequirementError: there is none; says which there are.
    """
    client = registry_client(settings)
    aliases = aliases_of(client, settings.labeler_name)
    version = aliases.get(named, named)
    versions = client.search_model_versions(f"name = '{settings.labeler_name}'")
    known = sorted((str(found.version) for found in versions), key=int)
    if version not in known:
        raise MissingRequirementError(
            f"{settings.labeler_name} has no version or alias {named!r}; versions: {', '.join(known) or 'none'}; "
            f"aliases: {', '.join(sorted(aliases)) or 'none'}. `semlabel labeler register FOLDER` makes a version."
        )
    return version


def aliases_of(client: "MlflowClient", name: str) -> dict[str, str]:
    """Return version by alias; a search of versions does not know them."""
    from mlflow.exceptions import MlflowException

    try:
        aliases = client.get_registered_model(name).aliases
    except MlflowException:  # no version was registered yet
        return {}
    return {alias: str(version) for alias, version in dict(aliases).items()}


def _rename_unless_there(partial: Path, folder: Path) -> None:
    try:
        partial.rename(folder)
    except OSError:  # another run staged the same artifact first
        shutil.rmtree(partial)


def _resolve_alias(client: "MlflowClient", settings: Settings) -> str | None:
    from mlflow.exceptions import MlflowException

    try:
        found = client.get_model_version_by_alias(settings.labeler_name, settings.labeler_alias)
    except MlflowException:
        return None
    return str(found.version)


def _version_of(client: "MlflowClient", name: str, artifact_id: str) -> str | None:
    versions = client.search_model_versions(f"name = '{name}' and tag.artifact_id = '{artifact_id}'")
    return str(versions[0].version) if versions else None


def _create_version(client: "MlflowClient", settings: Settings, folder: Path, artifact: LabelerArtifact) -> str:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(settings.labeler_name)
    except MlflowException as error:
        if "already exists" not in str(error):
            raise
    run = client.create_run(experiment_id(client, settings), run_name=f"register {artifact.name}")
    client.log_artifacts(run.info.run_id, str(folder), ARTIFACT_PATH)
    for name, value in artifact.evaluation.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            client.log_metric(run.info.run_id, name, float(value))
    _log_evaluation(client, run.info.run_id, folder, artifact)
    client.set_terminated(run.info.run_id)
    created = client.create_model_version(
        settings.labeler_name,
        source=f"{run.info.artifact_uri}/{ARTIFACT_PATH}",
        run_id=run.info.run_id,
        tags={
            "artifact_id": artifact.artifact_id,
            "scorer_id": artifact.scorer_id,
            "labeler": artifact.name,
            "threshold": repr(artifact.threshold),
        },
    )
    return str(created.version)


def _log_evaluation(client: "MlflowClient", run_id: str, folder: Path, artifact: LabelerArtifact) -> None:
    """Log what `evaluate` left beside the folder, if it is of this artifact; no profile text is in these files."""
    found = folder.resolve().parent / "evaluation"
    if not (found / "evaluation.json").is_file():
        return
    if json.loads((found / "evaluation.json").read_text(encoding="utf-8")).get("artifact_id") != artifact.artifact_id:
        return
    for name in EVALUATION_FILES:
        client.log_artifact(run_id, str(found / name), EVALUATION_PATH)
