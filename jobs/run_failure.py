"""Write down that a run failed, since its task gave up or nothing was heard of it for too long; that a canary did; that
a person rejected a plan.
"""

from pathlib import Path

from jobs.ledger import CANARY_FAILED, FAILED, REJECTED, append_event
from jobs.run_ledger import RunLedger, read_run
from mis_scoring.engines.canary import CanaryError


def write_failure(root: Path, run: RunLedger, reason: str, *, step: str | None = None) -> None:
    """Append a `failed` event; each failure of a run has one of its own.

    Args:
        step: the task that failed; None where a run just ended.
    """
    append_event(root, run.run_id, FAILED, {"reason": reason, "step": step}, attempt=run.n_failed + 1)


def fail_run(root: Path, run_id: str, step: str, reason: str) -> None:
    """Write down at which task a run failed, unless it waits for an approval, is published, or failed already."""
    run = read_run(root, run_id)
    if run.state == "open":
        write_failure(root, run, reason, step=step)


def reject_run(root: Path, run_id: str) -> None:
    """Write down that a person rejected the plan of a run, at which it ends unless somebody asks again."""
    run = read_run(root, run_id)
    append_event(root, run_id, REJECTED, {}, attempt=run.n_times.get(REJECTED, 0) + 1)


def write_canary_failure(root: Path, run_id: str, round: int, failure: CanaryError) -> None:
    """Append a `canary_failed` event: a later try of the round may end well, and leave no other trace of it."""
    payload = {"round": round, "engine": failure.engine, "faults": failure.faults}
    append_event(root, run_id, CANARY_FAILED, payload, attempt=read_run(root, run_id).n_canary_failures + 1)
