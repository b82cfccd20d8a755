"""What is told when a task fails for good, to a real web server."""

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from semlabel_dags.callbacks import report_failure

HELD = RuntimeError("publish_labels: a check did not hold: run weekly_full-1 is held: `semlabel approve weekly_full-1`")
CONTEXT: dict[str, Any] = {
    "ti": SimpleNamespace(dag_id="weekly_full", run_id="scheduled__1", task_id="publish_labels", try_number=1),
    "exception": HELD,
}


class Webhook(BaseHTTPRequestHandler):
    status = 200
    taken: list[Any] = []  # noqa: RUF012

    def do_POST(self) -> None:
        self.taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Webhook]]:
    handler = type("OwnWebhook", (Webhook,), {"taken": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("SEMLABEL_FAILURE_WEBHOOK", f"http://127.0.0.1:{server.server_port}/")
        yield handler
        server.shutdown()


def test_a_failure_goes_to_the_log_and_the_webhook(webhook: type[Webhook], caplog: pytest.LogCaptureFixture) -> None:
    report_failure(CONTEXT)
    failure = webhook.taken[0]
    assert failure["task_id"] == "publish_labels" and failure["message"] == str(HELD)
    assert "weekly_full scheduled__1: publish_labels failed at try 1" in caplog.text


def test_a_webhook_that_refuses_fails_nothing(webhook: type[Webhook], caplog: pytest.LogCaptureFixture) -> None:
    webhook.status = 500
    report_failure(CONTEXT)
    assert webhook.taken and "the failure webhook did not take the message" in caplog.text


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "no url"])
def test_a_webhook_that_is_not_there_fails_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SEMLABEL_FAILURE_WEBHOOK", url)
    with caplog.at_level(logging.WARNING):
        report_failure(CONTEXT)
    assert "the failure webhook did not take the message" in caplog.text
