"""The deployment's MLflow: a client without telemetry, and semlabel's experiment."""

import os
from typing import TYPE_CHECKING

from jobs.settings import Settings

if TYPE_CHECKING:
    from mlflow import MlflowClient


def registry_client(settings: Settings) -> "MlflowClient":
    """Return a client of the deployment's MLflow, telemetry off."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    from mlflow import MlflowClient

    settings.home.mkdir(parents=True, exist_ok=True)
    return MlflowClient(tracking_uri=settings.tracking_uri, registry_uri=settings.tracking_uri)


def experiment_id(client: "MlflowClient", settings: Settings) -> str:
    """Return the id of semlabel's experiment, made on first use."""
    found = client.get_experiment_by_name("semlabel")
    if found is not None:
        return str(found.experiment_id)
    # a sqlite database keeps artifacts beside itself; a server has a place of its own
    location = (settings.home / "mlflow-artifacts").resolve().as_uri() if settings.mlflow_uri == "" else None
    return str(client.create_experiment("semlabel", artifact_location=location))
