"""A model server as the scorer of micro-batches: its engine may be on another machine, and serve others too.

A member's query goes ahead on a stream, to be prefilled while its items are retrieved, and the rounds share it. A
stream is never needed: whoever has none, or whose stream ended, is asked in one part.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol

from jobs.updates.scorer import OtherArtifactError, PairRequest, ScoredPairs
from mis_scoring.core.errors import DataError, EngineError, SemlabelError

_AT_ONCE = 16  # requests under way; the server packs those that wait into one forward
_OTHER_ARTIFACT = "FAILED_PRECONDITION"
_OF_THE_REQUEST = "INVALID_ARGUMENT"  # refused for what it holds: another try is refused too


class ScoringClient(Protocol):
    """`mis_scoring.serving.client.ScoringClient`, as far as it is used here."""

    def score(self, query: str, items: Sequence[str]) -> Any:
        """Return margins, is_reference, engine, scorer_id, tokens and tie_tokens of one query's items."""
        ...

    def open_query(self, query: str) -> AbstractContextManager[Any]:
        """Send a query ahead; the stream's `score` takes its items, round by round."""
        ...

    def describe(self) -> Any:
        """Return artifact_id and max_requests of the server."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class ServedScorer:
    """Asks a server for the scores of one artifact.

    Args:
        scorer_id: that the run pinned; what another scorer says is never taken.
    """

    def __init__(self, client: ScoringClient, *, scorer_id: str) -> None:
        self._client, self._scorer_id = client, scorer_id
        self._streams: dict[str, Any] = {}  # by query; one that is asked is out of it, so that nobody else asks it

    @contextmanager
    def asking(self, query_texts: Sequence[str]) -> Iterator[None]:
        """Send queries ahead, as many as leave half of the server's room to requests in one part."""
        with ExitStack() as streams:
            for query in list(dict.fromkeys(query_texts))[: self._n_streams()]:
                self._streams[query] = streams.enter_context(self._client.open_query(query))
            try:
                yield
            finally:
                self._streams.clear()

    def _n_streams(self) -> int:
        try:
            return int(min(_AT_ONCE, self._client.describe().max_requests // 2))
        except SemlabelError:  # whoever asks for scores is told why
            return 0

    def score(self, requests: Sequence[PairRequest]) -> list[ScoredPairs]:
        """Return one answer a request, in their order; the server answers for its canary.

        Raises:
            OtherArtifactError: the server has another artifact.
            EngineError: the server is away or full, or wants a token.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(self._score_one, requests))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _score_one(self, request: PairRequest) -> ScoredPairs:
        try:
            found = self._on_stream(request) or self._client.score(request.query_text, request.item_texts)
        except DataError as error:
            status = getattr(error, "status", "")
            if status == _OF_THE_REQUEST:
                return ScoredPairs.failed(request, "{}", str(error))
            kind = OtherArtifactError if status == _OTHER_ARTIFACT else EngineError
            raise kind(f"{error}; the batch waits until the server takes it") from error
        if found.scorer_id != self._scorer_id:
            raise EngineError(
                f"the model server answered as scorer {found.scorer_id}, the run pinned {self._scorer_id}"
            )
        if len(found.margins) != len(request.item_texts):
            raise EngineError(f"{len(found.margins)} scores for {len(request.item_texts)} items of one member")
        return ScoredPairs(
            engine=found.engine,
            margins=tuple(float(margin) for margin in found.margins),
            is_reference=tuple(bool(one) for one in found.is_reference),
            n_tokens=found.tokens,
            tie_tokens=found.tie_tokens,
        )

    def _on_stream(self, request: PairRequest) -> Any:
        """Return the answer of the query's stream; None where there is none, or it ended (idle, late, a new engine)."""
        stream = self._streams.pop(request.query_text, None)
        if stream is None:
            return None
        try:
            found = stream.score(request.item_texts)
        except SemlabelError:
            return None
        self._streams[request.query_text] = stream
        return found
