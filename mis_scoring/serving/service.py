"""The calls of the service. A call that fails says what is wrong in one status; no text of a request is in it."""

import asyncio
import logging
import time
import traceback
import uuid
from collections.abc import Awaitable
from typing import Any, TypeVar

import grpc
from grpc import StatusCode

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError, EngineError
from mis_scoring.core.labels import TokenIds
from mis_scoring.serving import scoring_pb2 as pb
from mis_scoring.serving.admission import Admission, RefusedRequestError
from mis_scoring.serving.batcher import Work
from mis_scoring.serving.engine_queue import EngineQueue, Scored
from mis_scoring.serving.metrics import ServerMetrics
from mis_scoring.serving.pipeline import ScoringPipeline
from mis_scoring.serving.request_faults import require_artifact
from mis_scoring.serving.settings import MAX_MESSAGE_BYTES, ServerSettings
from mis_scoring.serving.tracing import Tracing

log = logging.getLogger(__name__)
T = TypeVar("T")

_MALFORMED = "the message is no protobuf of this method: see scoring.proto"


class ScoringService:
    """Answers Score, ScoreStream and Describe; a message that is no protobuf comes as None (`method_handlers`)."""

    def __init__(
        self,
        *,
        artifact: LabelerArtifact,
        settings: ServerSettings,
        admission: Admission,
        pipeline: ScoringPipeline,
        engine: EngineQueue,
        metrics: ServerMetrics,
        tracing: Tracing,
    ) -> None:
        self._artifact, self._settings, self._admission = artifact, settings, admission
        self._pipeline, self._engine = pipeline, engine
        self._metrics, self._tracing = metrics, tracing

    async def Score(self, request: pb.ScoreRequest | None, context: Any) -> pb.ScoreResponse:
        """Score the items of one query."""
        with self._tracing.request("Score", context.invocation_metadata()):
            return await self._told("Score", context, self._score(request))

    async def ScoreStream(self, _: Any, context: Any) -> None:
        """Prefill a query, and score each message of items that follows."""
        with self._tracing.request("ScoreStream", context.invocation_metadata()):
            await self._told("ScoreStream", context, self._score_stream(context))

    async def Describe(self, _: Any, context: Any) -> pb.DescribeResponse:
        """Say what is served."""
        return pb.DescribeResponse(
            artifact_id=self._artifact.artifact_id,
            scorer_id=self._artifact.scorer_id,
            threshold=self._artifact.threshold,
            engine=self._engine.said["engine"],
            limits=pb.Limits(
                items=self._settings.max_items,
                pair_tokens=self._engine.said["max_tokens"],
                message_bytes=MAX_MESSAGE_BYTES,
                requests=self._settings.max_requests,
            ),
        )

    async def _score(self, request: pb.ScoreRequest | None) -> pb.ScoreResponse:
        started = time.perf_counter()
        if request is None:
            raise RefusedRequestError(StatusCode.INVALID_ARGUMENT, "malformed", _MALFORMED)
        with self._admission.enter():
            require_artifact(request.artifact_id, self._artifact.artifact_id)
            query, items = await self._pipeline.encode(request.query, request.items)
            answer = await self._pipeline.answer(self._engine.add(query, items))
        self._metrics.request_s.labels("Score").observe(time.perf_counter() - started)
        return answer

    async def _score_stream(self, context: Any) -> None:
        with self._admission.enter():
            first = (await self._next_part(context, "query")).query
            require_artifact(first.artifact_id, self._artifact.artifact_id)
            query = await self._pipeline.encode_query(first.query)
            stream = uuid.uuid4().hex if self._engine.said["takes_many"] else None
            prefill = None if stream is None else self._engine.add(query, (), stream)
            try:
                await self._score_parts(context, query, stream, prefill)
            finally:
                if prefill is not None and stream is not None:
                    prefill.done.cancel()
                    self._engine.release(stream)

    async def _score_parts(self, context: Any, query: TokenIds, stream: str | None, prefill: Work | None) -> None:
        while (part := await self._next_part(context, "items")) is not None:
            started = time.perf_counter()
            items = await self._pipeline.encode_items(query, part.items.items)
            n_prefilled = await self._prefilled(prefill)
            answer = await self._pipeline.answer(self._engine.add(query, items, stream))
            answer.tokens += n_prefilled
            prefill = None  # counted once
            await self._write(context, answer)
            self._metrics.request_s.labels("ScoreStream").observe(time.perf_counter() - started)

    async def _write(self, context: Any, answer: pb.ScoreResponse) -> None:
        """Hand an answer to who reads the stream; who does not read keeps no place of another."""
        try:
            await asyncio.wait_for(context.write(answer), self._settings.stream_idle_s)
        except TimeoutError:
            raise RefusedRequestError(
                StatusCode.DEADLINE_EXCEEDED, "idle", f"no answer was read within {self._settings.stream_idle_s:g} s"
            ) from None

    async def _prefilled(self, prefill: Work | None) -> int:
        """Wait for a prefill that runs, take back one that does not yet; return the tokens that it took."""
        if prefill is None:
            return 0
        if self._engine.is_waiting(prefill):
            prefill.done.cancel()
            return 0
        scored: Scored = await prefill.done
        return scored.n_tokens

    async def _next_part(self, context: Any, kind: str) -> Any:
        """Return the next message of a stream; None where it ends as it should."""
        try:
            part = await asyncio.wait_for(context.read(), self._settings.stream_idle_s)
        except TimeoutError:
            raise RefusedRequestError(
                StatusCode.DEADLINE_EXCEEDED, "idle", f"no {kind} within {self._settings.stream_idle_s:g} s"
            ) from None
        if part is grpc.aio.EOF and kind == "items":
            return None
        if part is None:
            raise RefusedRequestError(StatusCode.INVALID_ARGUMENT, "malformed", _MALFORMED)
        if part is grpc.aio.EOF or part.WhichOneof("part") != kind:
            raise RefusedRequestError(
                StatusCode.INVALID_ARGUMENT, "bad_input", "a stream is one query, then any number of items"
            )
        return part

    async def _told(self, method: str, context: Any, answering: Awaitable[T]) -> T:
        """Return an answer; turn what went wrong into its status."""
        status, message, reason = StatusCode.OK, "", ""
        try:
            return await answering
        except asyncio.CancelledError:  # the caller has gone, or its deadline has passed
            status, reason = StatusCode.CANCELLED, "cancelled"
            raise
        except RefusedRequestError as error:
            status, message, reason = error.status, error.message, error.reason
        except EngineError as error:
            status, message, reason = StatusCode.UNAVAILABLE, str(error), "engine"
        except DataError as error:
            status, message, reason = StatusCode.INVALID_ARGUMENT, str(error), "bad_input"
        except Exception as error:  # a bug: its own message could hold a text, so only its kind is told
            log.error("%s in %s:\n%s", type(error).__name__, method, "".join(traceback.format_tb(error.__traceback__)))
            status, message, reason = StatusCode.INTERNAL, type(error).__name__, "internal"
        finally:
            self._metrics.requests.labels(method, status.name).inc()
            if reason:
                self._metrics.refused.labels(reason).inc()
        await context.abort(status, message)
        raise AssertionError("abort raises")
