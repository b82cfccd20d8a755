"""A model server in a thread of the test, and what its tests ask of it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving.client import ScoringClient
from mis_scoring.serving.server import SERVICE, ModelServer
from mis_scoring.serving.settings import ServerSettings
from mis_scoring.serving.tracing import Tracing

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
_WITHIN_S = 30.0


class Running:
    """A server that answers, its artifact, and a client of it."""

    def __init__(self, artifact: LabelerArtifact, folder: Path, server: ModelServer, settings: ServerSettings) -> None:
        self.artifact, self.server = artifact, server
        self.tokenizer = PromptTokenizer(folder / "tokenizer.json", artifact.prompt)
        self.address = f"{settings.host}:{server.port}"
        self.client = self.client_of(artifact.artifact_id)

    def client_of(self, artifact_id: str, **options: Any) -> ScoringClient:
        return ScoringClient(self.address, artifact_id=artifact_id, **({"timeout_s": _WITHIN_S} | options))

    def query(self, text: str = "nurse for ten years") -> str:
        return self.artifact.prompt.render_query(text)

    def items(self, *texts: str) -> list[str]:
        return [self.artifact.prompt.render_item(text) for text in texts]

    def figure(self, name: str, **labels: str) -> float:
        return self.server.metrics.registry.get_sample_value(f"semlabel_scoring_{name}", labels) or 0.0

    def health(self, service: str = SERVICE) -> int:
        with grpc.insecure_channel(self.address) as channel:
            asked = health_pb2.HealthCheckRequest(service=service)
            return int(health_pb2_grpc.HealthStub(channel).Check(asked, timeout=_WITHIN_S).status)


@contextmanager
def running_server(
    artifact: LabelerArtifact,
    folder: Path,
    *,
    engine: str,
    tracing: Tracing | None = None,
    **changes: Any,
) -> Iterator[Running]:
    """Serve an artifact on free ports while the block runs."""
    settings = ServerSettings(**({"port": 0, "metrics_port": 0, "drain_s": 5.0} | changes))
    spec = ScoreSpec.of(artifact, folder, engine=engine, engine_threads=1)
    ready: Future[tuple[ModelServer, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        async with ModelServer(artifact, spec, settings, tracing=tracing) as server:
            is_over = asyncio.Event()
            ready.set_result((server, asyncio.get_running_loop(), is_over))
            await is_over.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    server, loop, is_over = ready.result()
    running = Running(artifact, folder, server, settings)
    try:
        yield running
    finally:
        running.client.close()
        loop.call_soon_threadsafe(is_over.set)
        thread.join()


def until(is_so: Callable[[], Any]) -> Any:
    """Return what is looked for once it is there."""
    deadline = time.monotonic() + _WITHIN_S
    while not (found := is_so()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)
    return found
