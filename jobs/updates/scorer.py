"""What a micro-batch asks of whatever scores: margins of one query's items, in their order, by the run's artifact."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mis_scoring.core.errors import EngineError


class OtherArtifactError(EngineError):
    """The scorer has another artifact than the run pinned: it may come to have it, or the run is outdated."""


class ScorerSetupError(EngineError):
    """The scorer can't be made as the settings are: a fault of the service, of no batch."""


@dataclass(frozen=True, kw_only=True)
class PairRequest:
    """One query with its items, as rendered."""

    query_text: str
    item_texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ScoredPairs:
    """The answer to one request.

    Attributes:
        engine: fingerprint of what scored it, canonical JSON; kept beside each judgment.
        margins: z(YES) - z(NO) of each item, float32 values; None where there is none: never 0.
        is_reference: which pairs the reference decided (tie rule).
        n_tokens: that the engine computed. tie_tokens: that the reference computed.
        error: why the request can't be scored whatever engine tries; then all margins are None.
    """

    engine: str
    margins: tuple[float | None, ...]
    is_reference: tuple[bool, ...]
    n_tokens: int = 0
    tie_tokens: int = 0
    error: str | None = None

    @classmethod
    def failed(cls, request: PairRequest, engine: str, error: str) -> "ScoredPairs":
        """Return the answer to a request that can't be scored."""
        n_items = len(request.item_texts)
        return cls(engine=engine, margins=(None,) * n_items, is_reference=(False,) * n_items, error=error)


class Scorer(Protocol):
    """Scores for one artifact."""

    def score(self, requests: Sequence[PairRequest]) -> list[ScoredPairs]:
        """Return one answer a request, in their order; only what may be committed, a canary having passed.

        Raises:
            EngineError: it can't score now; a later try may.
            OtherArtifactError: it has another artifact.
        """
        ...

    def close(self) -> None:
        """Let go of the engine or the connection; it is not asked any more."""
        ...


@runtime_checkable
class PrefillingScorer(Scorer, Protocol):
    """A scorer that can work on queries before their items are known."""

    def asking(self, query_texts: Sequence[str]) -> AbstractContextManager[None]:
        """Prefill queries that are asked while the block runs, so that each is computed once."""
        ...
