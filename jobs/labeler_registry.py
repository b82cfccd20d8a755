"""The labeler in MLflow: one registered model, a version an artifact, found by alias, pinned by version and digest.

An artifact is a folder of safetensors and JSON; it is copied to the staging root under its digest when a run pins it,
so that jobs without MLflow (Ray, a GPU environment) read it from there.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.errors import MissingRequirementError
from jobs.settings import Settings
from mis_scoring.core.artifact import LabelerArtifact

if TYPE_CHECKING:
    from mlflow import MlflowClient

ARTIFACT_PATH = "labeler"


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
    source = client.get_model_version(settings.labeler_name, version).source
    return _stage(settings, version, str(source))


def _stage(settings: Settings, version: str, source: str) -> PinnedLabeler:
    from mlflow.artifacts import download_artifacts

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


def _rename_unless_there(partial: Path, folder: Path) -> None:
    try:
        partial.rename(folder)
    except OSError:  # another run staged the same artifact first
        shutil.rmtree(partial)


def registry_client(settings: Settings) -> "MlflowClient":
    """Return a client of the deployment's MLflow, telemetry off."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    from mlflow import MlflowClient

    settings.home.mkdir(parents=True, exist_ok=True)
    return MlflowClient(tracking_uri=settings.tracking_uri, registry_uri=settings.tracking_uri)


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
    client.set_terminated(run.info.run_id)
    created = client.create_model_version(
        settings.labeler_name,
        source=f"{run.info.artifact_uri}/{ARTIFACT_PATH}",
        run_id=run.info.run_id,
        tags={"artifact_id": artifact.artifact_id, "scorer_id": artifact.scorer_id, "labeler": artifact.name},
    )
    return str(created.version)


def experiment_id(client: "MlflowClient", settings: Settings) -> str:
    """Return the id of semlabel's experiment, made on first use."""
    found = client.get_experiment_by_name("semlabel")
    if found is not None:
        return str(found.experiment_id)
    # a sqlite database keeps artifacts beside itself; a server has a place of its own
    location = (settings.home / "mlflow-artifacts").resolve().as_uri() if settings.mlflow_uri == "" else None
    return str(client.create_experiment("semlabel", artifact_location=location))
