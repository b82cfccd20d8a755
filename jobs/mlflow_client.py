"""The deployment's MLflow: a client without telemetry, and semlabel's experiment."""

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.settings import Settings

if TYPE_CHECKING:
    from mlflow import MlflowClient


def registry_client(settings: Settings) -> "MlflowClient":
    """Return a client of the deployment's MLflow, telemetry off."""
    settings.home.mkdir(parents=True, exist_ok=True)
    return client_of(settings.tracking_uri)


def client_of(uri: str) -> "MlflowClient":
    """Return a client of the MLflow at a URI, telemetry off."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")  # that it makes its database on first use is no news
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def experiment_id(client: "MlflowClient", settings: Settings) -> str:
    """Return the id of semlabel's experiment, made on first use."""
    found = client.get_experiment_by_name("semlabel")
    if found is not None:
        return str(found.experiment_id)
    # a server has a place of its own for artifacts; where there is none, MLflow would take the working folder
    is_file = settings.tracking_uri.startswith("sqlite:")
    location = (settings.home / "mlflow-artifacts").resolve().as_uri() if is_file else None
    return str(client.create_experiment("semlabel", artifact_location=location))


def read_json(client: "MlflowClient", run_id: str, path: str) -> dict[str, Any]:
    """Return the content of a JSON file among the artifacts of a run in MLflow."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(client.download_artifacts(run_id, path, scratch))
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
