"""The pinned labeler on an engine of this machine, with its tie rule: what makes a decision again."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.labeler.registry import PinnedLabeler, stage_labeler
from jobs.pins import Pins
from jobs.settings import Settings
from mis_scoring.core.errors import ArtifactError
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.engine_pair import EnginePair, load_engines
from mis_scoring.engines.pair_scores import PairScorer
from mis_scoring.engines.score_spec import ScoreSpec

REFERENCE = "reference"


@dataclass(frozen=True, kw_only=True)
class Rescorer:
    """A labeler that scores rendered texts."""

    tokenizer: PromptTokenizer
    scorer: PairScorer

    @classmethod
    def of(cls, labeler: PinnedLabeler, engine: str, *, threads: int) -> "Rescorer":
        """Load a labeler.

        Args:
            engine: `reference`, or as SEMLABEL_ENGINE.
        Raises:
            DataError: there is no such engine.
        """
        spec = ScoreSpec.of(labeler.artifact, labeler.folder, engine=engine, engine_threads=threads)
        tokenizer, engines = spec.tokenizer(), _engines(labeler, engine, threads)
        return cls(tokenizer=tokenizer, scorer=PairScorer.of(spec, tokenizer, engines))

    def margins(self, query_text: str, item_texts: Sequence[str]) -> list[float]:
        """Return the margin of each item of one query; texts are rendered already.

        Raises:
            EngineError: the engine failed.
        """
        items = [self.tokenizer.encode_item(text) for text in item_texts]
        return [float(margin) for margin in self.scorer.score(self.tokenizer.encode_query(query_text), items).margins]


def pinned_labeler(settings: Settings, pins: Pins) -> PinnedLabeler | str:
    """Return the labeler of a run from MLflow, by version, its digests checked; or why it is not there."""
    from mlflow.exceptions import MlflowException

    of_name = settings.model_copy(update={"labeler_name": pins.labeler})
    what = f"{pins.labeler} version {pins.labeler_version}"
    try:
        found = stage_labeler(of_name, pins.labeler_version)
    except (MlflowException, ArtifactError, OSError) as error:
        return f"MLflow does not give {what} whole: {error}"
    if found.artifact.artifact_id != pins.artifact_id:
        return f"{what} is artifact {found.artifact.artifact_id[:12]}, the run pinned {pins.artifact_id[:12]}"
    return found


def _engines(labeler: PinnedLabeler, engine: str, threads: int) -> EnginePair:
    if engine != REFERENCE:
        return load_engines(engine, labeler.folder, threads=threads)
    from mis_scoring.engines.reference import ReferenceEngine

    reference = ReferenceEngine(labeler.folder, threads=threads)
    return reference, reference
