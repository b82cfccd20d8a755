"""What a caller of the model server gets: scores, a description, or one of two errors."""

from dataclasses import dataclass
from typing import Any

import grpc
import numpy as np
import numpy.typing as npt

from mis_scoring.core.errors import DataError, EngineError
from mis_scoring.core.readout import FloatArray, RealArray
from mis_scoring.serving import scoring_pb2

_REFUSED_AGAIN = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNIMPLEMENTED,
)


@dataclass(frozen=True, kw_only=True)
class ItemScores:
    """The scores of one query's items, in their order.

    Attributes:
        margins: (n_items,) float32, finite. `scores`: (n_items,) float64 in [0, 1].
        is_reference: (n_items,), which pairs the reference decided.
        engine: fingerprint, canonical JSON, as a judgment keeps it.
        tokens: that the engine computed. `tie_tokens`: the reference.
    """

    margins: FloatArray
    scores: RealArray
    is_reference: npt.NDArray[np.bool_]
    artifact_id: str
    scorer_id: str
    engine: str
    tokens: int
    tie_tokens: int


@dataclass(frozen=True, kw_only=True)
class ServerDescription:
    """What a server serves: a pair is accepted where score >= threshold; the limits are those of one message."""

    artifact_id: str
    scorer_id: str
    threshold: float
    engine: str
    max_items: int
    max_pair_tokens: int
    max_message_bytes: int
    max_requests: int


class RefusedError(DataError):
    """The server refused a request that it will refuse again: bad input, another artifact, no token.

    Attributes:
        status: the name of the gRPC status.
    """

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        super().__init__(f"the model server refused ({status}): {message}")


class NotAnsweredError(EngineError):
    """The server gave no scores this time: it is away, full, starting an engine, or late. A retry may help.

    Attributes:
        status: the name of the gRPC status.
    """

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        super().__init__(f"the model server did not answer ({status}): {message}")


def error_of(failure: Any) -> RefusedError | NotAnsweredError:
    """Return the error of a call that failed (`grpc.RpcError`, which is its call as well)."""
    status, details = failure.code(), failure.details() or "no reason given"
    kind = RefusedError if status in _REFUSED_AGAIN else NotAnsweredError
    return kind(status.name, details)


def scores_of(answer: scoring_pb2.ScoreResponse, n_items: int) -> ItemScores:
    """Return the scores of an answer.

    Raises:
        NotAnsweredError: it is not aligned with the items.
    """
    lengths = {len(answer.margins), len(answer.scores), len(answer.from_reference)}
    if lengths != {n_items}:
        raise NotAnsweredError("DATA_LOSS", f"{n_items} items got lists of {sorted(lengths)} entries")
    return ItemScores(
        margins=np.asarray(answer.margins, np.float32),
        scores=np.asarray(answer.scores, np.float64),
        is_reference=np.asarray(answer.from_reference, np.bool_),
        artifact_id=answer.artifact_id,
        scorer_id=answer.scorer_id,
        engine=answer.engine,
        tokens=answer.tokens,
        tie_tokens=answer.tie_tokens,
    )


def description_of(answer: scoring_pb2.DescribeResponse) -> ServerDescription:
    """Return what a server says of itself."""
    return ServerDescription(
        artifact_id=answer.artifact_id,
        scorer_id=answer.scorer_id,
        threshold=answer.threshold,
        engine=answer.engine,
        max_items=answer.limits.items,
        max_pair_tokens=answer.limits.pair_tokens,
        max_message_bytes=answer.limits.message_bytes,
        max_requests=answer.limits.requests,
    )
