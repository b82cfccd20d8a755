"""What is told when a task has failed for good: the log, the run's ledger and, where a webhook is set, one POST.

Callbacks never fail a task: a ledger or a webhook that does not answer is a line in the log.
"""

import json
import logging
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

_TIMEOUT_S = 5


def report_failure(context: Mapping[str, Any]) -> None:
    """Tell which task of which run failed and why; SEMLABEL_FAILURE_WEBHOOK gets the same as JSON."""
    from jobs.settings import Settings

    settings, failure = Settings(), failure_of(context)
    log.error("%(dag_id)s %(run_id)s: %(task_id)s failed at try %(attempt)s: %(message)s", failure)
    if run_id := _refresh_run_of(context):
        _write_down(settings.tables, run_id, failure)
    if settings.failure_webhook:
        _post(settings.failure_webhook, failure)


def failure_of(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the failure as a flat document. The jobs' messages name ids and counts, never a profile's text."""
    ti = context["ti"]
    return {
        "dag_id": ti.dag_id,
        "run_id": ti.run_id,
        "task_id": ti.task_id,
        "attempt": ti.try_number,
        "message": str(context.get("exception") or "no message: see the task's log"),
    }


def _refresh_run_of(context: Mapping[str, Any]) -> str:
    """The run_id that the task's job was given; empty before the pin, and where a worker died with its values."""
    run_id = getattr(context.get("task"), "values", {}).get("run_id", "")
    return "" if "{{" in run_id else str(run_id)


def _write_down(root: Path, run_id: str, failure: Mapping[str, Any]) -> None:
    from jobs.run_failure import fail_run

    try:
        fail_run(root, run_id, failure["task_id"], failure["message"])
    except Exception as error:  # whatever the tables say, the callback goes on to the webhook
        log.warning("the ledger did not take the failure of %s: %s", run_id, error)


def _post(url: str, failure: Mapping[str, Any]) -> None:
    body, headers = json.dumps(failure).encode(), {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body, headers=headers), timeout=_TIMEOUT_S):
            pass
    except (OSError, ValueError) as error:  # no answer, an error status, no URL
        log.warning("the failure webhook did not take the message: %s", error)
