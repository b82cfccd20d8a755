"""The scorer that micro-batches share: made for a run's artifact, let go of when it dies, never asked again once wrong.

A scorer whose canary failed is not asked for this artifact any more while the process lives, as in the batch stage and
the model server: batches wait until a person has looked and started the service again.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from jobs.pins import Pins
from jobs.run_failure import write_canary_failure
from jobs.settings import Settings
from jobs.updates.scorer import PairRequest, PrefillingScorer, ScoredPairs, Scorer, ScorerSetupError
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError, EngineDeadError
from mis_scoring.engines.canary import CanaryError

MakeScorer = Callable[[Settings, Pins, LabelerArtifact], Scorer]

_Key = tuple[str, str]  # artifact, engine


class KeptScorer:
    """One scorer at a time: two engines may be more than the memory holds."""

    def __init__(self, settings: Settings, make: MakeScorer) -> None:
        self._settings, self._make = settings, make
        self._kept: tuple[_Key, Scorer] | None = None
        self._wrong: dict[_Key, CanaryError] = {}
        self._told: set[str] = set()  # runs whose ledger has the failure

    def score(
        self, pins: Pins, artifact: LabelerArtifact, number: int, requests: Sequence[PairRequest]
    ) -> list[ScoredPairs]:
        """Return one answer a request of a run's round, in their order.

        Raises:
            CanaryError: the scorer is wrong; the run's ledger says so.
            EngineError: it can't score now, or can't be made as the settings are.
        """
        key = pins.artifact_id, pins.engine
        try:
            self._require_right(key)
            return self.of(pins, artifact).score(requests)
        except CanaryError as failure:
            self._wrong.setdefault(key, failure)
            self.close()
            self._tell(pins.run_id, number, failure)
            raise
        except EngineDeadError:
            self.close()
            raise

    def asking(self, pins: Pins, artifact: LabelerArtifact, queries: Sequence[str]) -> AbstractContextManager[None]:
        """Let a model server prefill the queries of a batch, while the block finds and scores their items.

        An engine of this process is not made for that: nothing may be left to score.

        Raises:
            ScorerSetupError: see `of`.
        """
        scorer = self.of(pins, artifact) if self._settings.updates_scorer else None
        return scorer.asking(queries) if isinstance(scorer, PrefillingScorer) else nullcontext()

    def of(self, pins: Pins, artifact: LabelerArtifact) -> Scorer:
        """Return the scorer of a run, made unless it is kept.

        Raises:
            ScorerSetupError: the settings or their files are wrong, not the batch.
        """
        key = pins.artifact_id, pins.engine
        if self._kept is None or self._kept[0] != key:
            self.close()
            try:
                self._kept = key, self._make(self._settings, pins, artifact)
            except DataError as error:
                raise ScorerSetupError(
                    f"{error}; batches wait until the service is started with other settings"
                ) from error
        return self._kept[1]

    def close(self) -> None:
        """Let go of the scorer that is kept."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept[1].close()

    def _require_right(self, key: _Key) -> None:
        if (failure := self._wrong.get(key)) is not None:
            raise CanaryError(failure.engine, failure.faults)

    def _tell(self, run_id: str, number: int, failure: CanaryError) -> None:
        """Write the failure into the ledger of a run that it stopped, once."""
        if run_id not in self._told:
            write_canary_failure(self._settings.tables, run_id, number, failure)
            self._told.add(run_id)
