"""The artifact that a run pinned, read from the staging root with its digests checked."""

from pathlib import Path

from jobs.errors import CheckFailedError
from jobs.pins import Pins
from mis_scoring.core.artifact import LabelerArtifact


def load_artifact(pins: Pins) -> LabelerArtifact:
    """Return the run's artifact.

    Raises:
        CheckFailedError: the folder holds another artifact than the run pinned.
    """
    artifact = LabelerArtifact.load(Path(pins.artifact_folder))
    if artifact.artifact_id != pins.artifact_id:
        raise CheckFailedError(
            f"{pins.artifact_folder} holds artifact {artifact.artifact_id}, run {pins.run_id} pinned {pins.artifact_id}"
        )
    return artifact
