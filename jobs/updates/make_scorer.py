"""Which scorer micro-batches ask: the engine of the settings in this process, or a model server."""

from jobs.pins import Pins
from jobs.settings import Settings
from jobs.updates.scorer import Scorer
from mis_scoring.core.artifact import LabelerArtifact


def make_scorer(settings: Settings, pins: Pins, artifact: LabelerArtifact) -> Scorer:
    """Return the scorer of a run's artifact."""
    from jobs.updates.in_process_scorer import InProcessScorer

    return InProcessScorer(settings, pins, artifact)
