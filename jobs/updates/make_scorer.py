"""Which scorer micro-batches ask: a model server where the settings name one, else an engine in this process."""

from pathlib import Path

from jobs.pins import Pins
from jobs.settings import Settings
from jobs.updates.scorer import Scorer
from mis_scoring.core.artifact import LabelerArtifact


def make_scorer(settings: Settings, pins: Pins, artifact: LabelerArtifact) -> Scorer:
    """Return the scorer of a run's artifact.

    Raises:
        DataError: a file of the settings can't be used, or the engine computes other scores than the artifact's.
    """
    if not settings.updates_scorer:
        from jobs.updates.in_process_scorer import InProcessScorer

        return InProcessScorer(settings, pins, artifact)
    from jobs.updates.served_scorer import ServedScorer
    from mis_scoring.serving.client import ScoringClient

    client = ScoringClient(
        settings.updates_scorer,
        artifact_id=pins.artifact_id,
        timeout_s=settings.updates_scorer_timeout_s,
        token=_token_of(settings.updates_scorer_token_file),
        ca_file=settings.updates_scorer_ca,
    )
    return ServedScorer(client, scorer_id=pins.scorer_id)


def require_scorer_files(settings: Settings) -> None:
    """Read the files that the settings name for a model server.

    Raises:
        DataError: names the setting, the file and why it can't be used.
    """
    from mis_scoring.serving.access import read_file

    if settings.updates_scorer:
        _token_of(settings.updates_scorer_token_file)
        if settings.updates_scorer_ca is not None:
            read_file("updates_scorer_ca", settings.updates_scorer_ca)


def _token_of(file: Path | None) -> str:
    from mis_scoring.serving.access import read_token

    return "" if file is None else read_token(file, name="updates_scorer_token_file")
