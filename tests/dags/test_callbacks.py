"""What is told when a task fails for good: to a real web server, and to the ledger."""

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.ledger import HELD as RUN_HELD
from jobs.ledger import append_event
from jobs.run_ledger import read_run
from jobs.table_admin import create_missing
from schemas.runs import RUNS
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


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEMLABEL_TABLE_ROOT", str(tmp_path))
    create_missing(tmp_path, RUNS)
    append_event(tmp_path, "weekly_full-1", "plan_refresh", {})
    return tmp_path


def failed_with(run_id: str) -> dict[str, Any]:
    return CONTEXT | {"task": SimpleNamespace(values={"run_id": run_id})}


def test_the_ledger_keeps_a_failure_of_a_run_once(root: Path) -> None:
    for _ in range(2):
        report_failure(failed_with("weekly_full-1"))
    run = read_run(root, "weekly_full-1")
    assert (run.state, run.n_failed) == ("failed", 1)
    assert run.of("failed") == {"reason": str(HELD), "step": "publish_labels"}


def test_a_run_that_waits_for_an_approval_has_not_failed(root: Path) -> None:
    append_event(root, "weekly_full-1", RUN_HELD, {})
    report_failure(failed_with("weekly_full-1"))
    assert read_run(root, "weekly_full-1").state == "held"


def test_a_ledger_that_is_not_there_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SEMLABEL_TABLE_ROOT", str(tmp_path / "none"))
    report_failure(failed_with("weekly_full-1"))
    assert "the ledger did not take the failure of weekly_full-1" in caplog.text


def test_a_task_before_the_pin_has_no_ledger(root: Path) -> None:
    report_failure(failed_with("{{ ti.xcom_pull(task_ids='pin_inputs')['run_id'] }}"))
    assert read_run(root, "weekly_full-1").state == "open"
