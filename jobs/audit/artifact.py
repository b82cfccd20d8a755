"""What decides a label: the artifact's own description, from where runs staged it or, when that is gone, from MLflow.

Reads `labeler.json` alone: its digest is the artifact's id, so no weights need to be read to know that it is the one.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jobs.pins import Pins
from jobs.settings import Settings
from mis_scoring.core.artifact_content import parse_content
from mis_scoring.core.identity import digest
from mis_scoring.core.prompt import PromptLayout

_FILE = "labeler.json"


@dataclass(frozen=True, kw_only=True)
class ArtifactContent:
    """The content of `labeler.json`; None where neither place has it any more."""

    content: Mapping[str, Any] | None

    @property
    def layout(self) -> PromptLayout | None:
        """The prompt's layout."""
        return None if self.content is None else PromptLayout(**self.content["prompt"])

    def as_dict(self, pins: Pins) -> dict[str, Any]:
        """Return ids and versions as pinned, and what is known of the scorer."""
        content = self.content or {}
        digests = content.get("digests", {})
        return {
            "artifact_id": pins.artifact_id,
            "scorer_id": pins.scorer_id,
            "labeler": pins.labeler,
            "labeler_version": pins.labeler_version,
            "threshold": pins.threshold,
            "candidates_per_round": pins.candidates_per_round,
            "stop_below": pins.stop_below,
            "is_validated": pins.is_validated,
            "prompt_digest": digest(content["prompt"]) if content else None,
            "checkpoint_digest": digests.get("model.safetensors"),
            "tokenizer_digest": digests.get("tokenizer.json"),
            "label_tokens": content.get("label_tokens"),
            "numeric_profile": content.get("numeric_profile"),
            "tie_eps": content.get("tie_eps"),
        }


def artifact_of(settings: Settings, pins: Pins) -> ArtifactContent:
    """Return the artifact that a run pinned."""
    staged = Path(pins.artifact_folder) / _FILE
    found = _checked(staged, pins.artifact_id) if staged.is_file() else None
    return ArtifactContent(content=found or _registered(settings, pins))


def _checked(file: Path, artifact_id: str) -> Mapping[str, Any] | None:
    content, faults = parse_content(file.read_text(encoding="utf-8"))
    return content if not faults and digest(content) == artifact_id else None


def _registered(settings: Settings, pins: Pins) -> Mapping[str, Any] | None:
    if settings.mlflow_uri == "" and not (settings.home / "mlflow.db").exists():
        return None  # asking would make an empty registry
    from mlflow.exceptions import MlflowException

    try:
        return _from_mlflow(settings.tracking_uri, pins.labeler, pins.labeler_version, pins.artifact_id)
    except (MlflowException, OSError):  # the version or its files were deleted
        return None


@lru_cache(maxsize=64)
def _from_mlflow(mlflow_uri: str, labeler: str, version: str, artifact_id: str) -> Mapping[str, Any] | None:
    from mlflow.artifacts import download_artifacts

    from jobs.mlflow_client import client_of

    source = client_of(mlflow_uri).get_model_version(labeler, version).source
    with tempfile.TemporaryDirectory() as scratch:
        uri = f"{source}/{_FILE}"
        file = download_artifacts(artifact_uri=uri, dst_path=scratch, tracking_uri=mlflow_uri)
        return _checked(Path(file), artifact_id)
