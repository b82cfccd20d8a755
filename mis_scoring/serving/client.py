"""Ask a model server for scores. One client a process is enough: its connection takes many calls, from any threads.

Nothing is retried here: whoever asks knows how long it may take. A call that failed has no effect that a second one
could double.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

import grpc

from mis_scoring.serving import scoring_pb2, scoring_pb2_grpc
from mis_scoring.serving.access import open_channel
from mis_scoring.serving.answers import (
    ItemScores,
    NotAnsweredError,
    ServerDescription,
    description_of,
    error_of,
    scores_of,
)
from mis_scoring.serving.login import bearer

_Parts = SimpleQueue[scoring_pb2.ScorePart | None]


class ScoringClient:
    """Scores texts that are rendered by the artifact's layout.

    Args:
        address: host:port.
        artifact_id: whose scores are asked for; a server of another one refuses.
        timeout_s: of one call; a stream is one call, however many items it asks for.
        token: the server's, where it wants one.
        ca_file: PEM, who signed the server's certificate; None: no TLS.
    """

    def __init__(
        self, address: str, *, artifact_id: str, timeout_s: float = 30.0, token: str = "", ca_file: Path | None = None
    ) -> None:
        self._artifact_id = artifact_id
        self._options = {"timeout": timeout_s, "metadata": bearer(token)}
        self._channel = open_channel(address, ca_file)
        self._stub: Any = scoring_pb2_grpc.ScoringStub(self._channel)  # type: ignore[no-untyped-call]

    def score(self, query: str, items: Sequence[str]) -> ItemScores:
        """Return one score an item.

        Raises:
            RefusedError: the request is wrong; all its faults are named.
            NotAnsweredError: no answer within `timeout_s`, or the server can't give one now.
        """
        request = scoring_pb2.ScoreRequest(artifact_id=self._artifact_id, query=query, items=items)
        try:
            return scores_of(self._stub.Score(request, **self._options), len(items))
        except grpc.RpcError as error:
            raise error_of(error) from error

    @contextmanager
    def open_query(self, query: str) -> "Iterator[QueryStream]":
        """Send a query, for the engine to prefill while the block finds its items; what the block leaves is released.

        Raises:
            RefusedError, NotAnsweredError: from `QueryStream.score`, as from `score`.
        """
        parts: _Parts = SimpleQueue()
        parts.put(scoring_pb2.ScorePart(query=scoring_pb2.Query(artifact_id=self._artifact_id, query=query)))
        call = self._stub.ScoreStream(iter(parts.get, None), **self._options)
        try:
            yield QueryStream(call, parts)
        except BaseException:
            call.cancel()
            raise
        finally:
            parts.put(None)

    def describe(self) -> ServerDescription:
        """Return what the server serves.

        Raises:
            RefusedError: the server wants a token.
            NotAnsweredError: no answer within `timeout_s`.
        """
        try:
            return description_of(self._stub.Describe(scoring_pb2.DescribeRequest(), **self._options))
        except grpc.RpcError as error:
            raise error_of(error) from error

    def close(self) -> None:
        """Close the connection; what is under way is cancelled."""
        self._channel.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


class QueryStream:
    """One query that is with the server: its rounds are scored one after the other, and share its prefill."""

    def __init__(self, call: Any, parts: _Parts) -> None:
        self._call, self._parts = call, parts

    def score(self, items: Sequence[str]) -> ItemScores:
        """Return one score an item; see `ScoringClient.score`."""
        self._parts.put(scoring_pb2.ScorePart(items=scoring_pb2.Items(items=items)))
        try:
            return scores_of(next(self._call), len(items))
        except grpc.RpcError as error:
            raise error_of(error) from error
        except StopIteration:
            raise NotAnsweredError("CANCELLED", "the server ended the stream") from None
