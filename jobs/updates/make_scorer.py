"""Which scorer micro-batches ask: a model server where the settings name one, else an engine in this process."""

from jobs.pins import Pins
from jobs.settings import Settings
from jobs.updates.scorer import Scorer
from mis_scoring.core.artifact import LabelerArtifact


def make_scorer(settings: Settings, pins: Pins, artifact: LabelerArtifact) -> Scorer:
    """Return the scorer of a run's artifact."""
    if not settings.updates_scorer:
        from jobs.updates.in_process_scorer import InProcessScorer

        return InProcessScorer(settings, pins, artifact)
    from jobs.updates.served_scorer import ServedScorer
    from mis_scoring.serving.access import read_token
    from mis_scoring.serving.client import ScoringClient

    token_file = settings.updates_scorer_token_file
    client = ScoringClient(
        settings.updates_scorer,
        artifact_id=pins.artifact_id,
        timeout_s=settings.updates_scorer_timeout_s,
        token="" if token_file is None else read_token(token_file, name="updates_scorer_token_file"),
        ca_file=settings.updates_scorer_ca,
    )
    return ServedScorer(client, scorer_id=pins.scorer_id)
