"""OpenTelemetry spans of a request: tokenize, wait, forward, tie rule. Only where the environment names a collector.

Set by the standard variables (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, ...). Spans hold numbers, never a text.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import propagate, trace

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NS = 1_000_000_000


class Tracing:
    """Makes the spans of requests; without a collector it makes none and costs nothing.

    Args:
        exporter: where spans go; None: as the environment says.
    """

    def __init__(self, exporter: Any = None) -> None:
        self._provider = _provider(exporter)
        self._tracer = trace.NoOpTracer() if self._provider is None else self._provider.get_tracer("semlabel.scoring")

    @contextmanager
    def request(self, name: str, metadata: Iterable[tuple[str, str | bytes]]) -> Iterator[None]:
        """Open the span of a call, below its caller's, which came with the metadata (`traceparent`)."""
        if self._provider is None:
            yield
            return
        carrier = {key: value for key, value in metadata if isinstance(value, str)}
        with self._tracer.start_as_current_span(
            name, context=propagate.extract(carrier), kind=trace.SpanKind.SERVER, record_exception=False
        ):
            yield

    def stage(self, name: str, started: float, ended: float, *, items: int) -> None:
        """Tell of a stage of this call that is over; times in seconds since the epoch."""
        if self._provider is None:
            return
        span = self._tracer.start_span(name, start_time=int(started * _NS), attributes={"items": items})
        span.end(end_time=int(ended * _NS))

    def close(self) -> None:
        """Send what is left."""
        if self._provider is not None:
            self._provider.shutdown()


def _provider(exporter: Any) -> Any:
    if exporter is None and not any(os.environ.get(name) for name in _ENDPOINTS):
        return None
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if exporter is None:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "semlabel-scoring"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
