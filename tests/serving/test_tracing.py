"""Spans: none without a collector; with one, the stages of a request below its caller's span, and no text."""

from pathlib import Path

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mis_scoring.serving import scoring_pb2 as pb
from mis_scoring.serving.scoring_pb2_grpc import ScoringStub
from mis_scoring.serving.tracing import Tracing
from tests.ray.round_tables import write_artifact
from tests.serving.running import running_server
from tests.serving.steered_engine import ENGINE

SECRET = "Zanzibarian"
CALLERS_TRACE, CALLERS_SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_request_leaves_the_spans_of_its_stages_below_its_callers(tmp_path: Path) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    exporter = InMemorySpanExporter()
    metadata = (("traceparent", f"00-{CALLERS_TRACE}-{CALLERS_SPAN}-01"),)
    with running_server(artifact, folder, engine=ENGINE, tracing=Tracing(exporter)) as running:
        request = pb.ScoreRequest(
            artifact_id=artifact.artifact_id, query=running.query(SECRET), items=running.items("a", "b")
        )
        with grpc.insecure_channel(running.address) as channel:
            ScoringStub(channel).Score(request, metadata=metadata)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"Score", "tokenize", "wait", "forward", "tie rule"}
    assert f"{spans['Score'].parent.span_id:016x}" == CALLERS_SPAN
    for span in spans.values():
        assert f"{span.context.trace_id:032x}" == CALLERS_TRACE
        assert SECRET not in span.to_json()
    stages = [spans[name] for name in ("tokenize", "wait", "forward", "tie rule")]
    assert all(span.parent.span_id == spans["Score"].context.span_id for span in stages)
    assert [span.start_time for span in stages] == sorted(span.start_time for span in stages)


def test_without_a_collector_there_are_no_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    with Tracing().request("Score", ()):
        assert trace.get_current_span() is trace.INVALID_SPAN
