"""What decides the scores under these settings: one place for refreshes, update batches and the model server."""

from pathlib import Path

from jobs.settings import Settings
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.engines.score_spec import ScoreSpec


def score_spec(settings: Settings, artifact: LabelerArtifact, folder: Path, *, engine: str) -> ScoreSpec:
    """Return the spec of an artifact that lies in a folder, on an engine with the settings' threads and options.

    Raises:
        DataError: the engine computes in another dtype or quantisation than the artifact's scores are defined in.
    """
    return ScoreSpec.of(
        artifact,
        folder,
        engine=engine,
        engine_threads=settings.engine_threads,
        engine_options=settings.engine_options,
    )
