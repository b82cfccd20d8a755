"""A model server, whole: start its parts, answer, and end without dropping a request that is under way."""

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Self, TypeVar

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from prometheus_client import start_http_server

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import MissingRequirementError
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving import scoring_pb2
from mis_scoring.serving.admission import Admission
from mis_scoring.serving.engine_queue import EngineQueue
from mis_scoring.serving.heap import freeze_heap
from mis_scoring.serving.login import TokenInterceptor
from mis_scoring.serving.method_handlers import method_handlers
from mis_scoring.serving.metrics import ServerMetrics
from mis_scoring.serving.pipeline import ScoringPipeline
from mis_scoring.serving.service import ScoringService
from mis_scoring.serving.settings import MAX_MESSAGE_BYTES, ServerSettings
from mis_scoring.serving.tokenizer_pool import TokenizerPool
from mis_scoring.serving.tracing import Tracing

log = logging.getLogger(__name__)
T = TypeVar("T")

SERVICE = scoring_pb2.DESCRIPTOR.services_by_name["Scoring"].full_name
_SPARE_CALLS = 64  # of health, reflection, Describe
_CHANNEL = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),  # a port that is taken is an error, not a second server behind it
    ("grpc.keepalive_time_ms", 30_000),  # a client that has disappeared is noticed, and its requests leave
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)


class ModelServer:
    """One artifact on one engine, behind gRPC.

    Args:
        spec: of the artifact.
        tracing: None: as the environment says.
    Attributes:
        port, metrics_port: where it listens, once it is entered.
    """

    def __init__(
        self,
        artifact: LabelerArtifact,
        spec: ScoreSpec,
        settings: ServerSettings,
        *,
        tracing: Tracing | None = None,
    ) -> None:
        self._settings, self.port, self.metrics_port = settings, 0, 0
        self.admission = Admission(settings.max_requests)
        self.metrics = ServerMetrics(
            n_waiting=lambda: float(len(self.engine)),
            n_under_way=lambda: float(self.admission.n_under_way),
            is_serving=lambda: float(self.is_serving),
        )
        self.engine = EngineQueue(spec, settings, self.metrics, self._tell_health)
        self.tokenizers = TokenizerPool(spec, settings.n_tokenizers, self._tell_health)
        self._tracing = tracing or Tracing()
        self._health = health.aio.HealthServicer()
        pipeline = ScoringPipeline(
            artifact=artifact,
            max_items=settings.max_items,
            tokenizers=self.tokenizers,
            engine=self.engine,
            metrics=self.metrics,
            tracing=self._tracing,
        )
        self._service = ScoringService(
            artifact=artifact,
            settings=settings,
            admission=self.admission,
            pipeline=pipeline,
            engine=self.engine,
            metrics=self.metrics,
            tracing=self._tracing,
        )
        self._server = self._make_server()
        self._scrapes: Any = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_serving(self) -> bool:
        """Whether a request would be taken now."""
        return not (self.engine.refusal or self.admission.is_draining) and self.tokenizers.is_there

    async def __aenter__(self) -> Self:
        """Start everything; answer once all of it is there.

        Raises:
            EngineError: the engine did not start, or its canary failed.
            MissingRequirementError: a port is taken.
        """
        self.port = self._bind()
        try:
            await asyncio.gather(self.engine.start(), self.tokenizers.start())
            self._scrapes, self.metrics_port = self._serve_metrics()
        except BaseException:
            await self._end_parts()
            raise
        if self._settings.freeze_heap:
            freeze_heap()
        await self._server.start()
        self._tell_health()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Take nothing new, let what is under way end, then end."""
        self.admission.is_draining = True
        await self._set_health()
        if not await self.admission.drain(self._settings.drain_s):
            log.warning("%d requests were cut off after %g s", self.admission.n_under_way, self._settings.drain_s)
        await self._server.stop(grace=1.0)
        await self._end_parts()

    def _make_server(self) -> Any:
        token = self._settings.access.token
        server = grpc.aio.server(
            interceptors=[TokenInterceptor(token)] if token else [],
            options=_CHANNEL,
            maximum_concurrent_rpcs=2 * self._settings.max_requests + _SPARE_CALLS,
        )
        server.add_generic_rpc_handlers((method_handlers(self._service, SERVICE),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        return server

    def _bind(self) -> int:
        settings = self._settings
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"{host}:{settings.port}"
        try:
            if (credentials := settings.access.credentials()) is None:
                return int(self._server.add_insecure_port(address))
            return int(self._server.add_secure_port(address, credentials))
        except RuntimeError as error:
            raise MissingRequirementError(f"cannot listen at {address}: give another port ({error})") from error

    def _serve_metrics(self) -> tuple[Any, int]:
        port = self._settings.metrics_port
        try:
            server, _ = start_http_server(port, addr=self._settings.host, registry=self.metrics.registry)
        except OSError as error:
            raise MissingRequirementError(
                f"cannot answer Prometheus at port {port} ({error.strerror}): give another metrics_port"
            ) from error
        return server, int(server.server_port)

    def _tell_health(self) -> None:
        task = asyncio.create_task(self._set_health())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _set_health(self) -> None:
        status = health_pb2.HealthCheckResponse
        for name in (SERVICE, health.OVERALL_HEALTH):
            await self._health.set(name, status.SERVING if self.is_serving else status.NOT_SERVING)

    async def _end_parts(self) -> None:
        await asyncio.gather(self.engine.close(), self.tokenizers.close())
        if self._scrapes is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._scrapes.shutdown)
            self._scrapes.server_close()
        self._tracing.close()
        self.metrics.close()


async def _never() -> None:
    await asyncio.Event().wait()


async def serve_until_told(
    artifact: LabelerArtifact,
    spec: ScoreSpec,
    settings: ServerSettings,
    successor: Callable[[], Awaitable[T | None]] = _never,
) -> T | None:
    """Serve until SIGTERM or SIGINT, then drain; says where on stdout, one JSON line, once it answers.

    Args:
        successor: waits for what is to be served instead; once there is such a thing, the serving ends, too.
    Returns:
        what `successor` found; None where it was told to end.
    Raises:
        EngineError: the engine did not start, or its canary failed.
        MissingRequirementError: a port is taken.
    """
    is_told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, is_told.set)
    async with ModelServer(artifact, spec, settings) as server:
        where = {"address": f"{settings.host}:{server.port}", "metrics_port": server.metrics_port}
        sys.stdout.write(json.dumps(where | {"artifact_id": artifact.artifact_id}) + "\n")
        sys.stdout.flush()
        found = await _first(is_told.wait(), successor())
        why = "told to end" if found is None else "something else is to be served"
        log.info("%s: %d requests are under way", why, server.admission.n_under_way)
        return found


async def _first(told: Awaitable[Any], found: Awaitable[T | None]) -> T | None:
    """Return what is found, or None where it is told to end before that."""
    telling, finding = asyncio.ensure_future(told), asyncio.ensure_future(found)
    await asyncio.wait({telling, finding}, return_when=asyncio.FIRST_COMPLETED)
    if telling.done():
        finding.cancel()
        with suppress(asyncio.CancelledError):
            await finding
        return None
    telling.cancel()
    return finding.result()


def serve(
    artifact: LabelerArtifact,
    spec: ScoreSpec,
    settings: ServerSettings,
    successor: Callable[[], Awaitable[T | None]] = _never,
) -> T | None:
    """Serve until told to end, or until something else is to be served; see `serve_until_told`."""
    import uvloop

    return uvloop.run(serve_until_told(artifact, spec, settings, successor))
