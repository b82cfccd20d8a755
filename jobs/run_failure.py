"""Write down that a run failed: its task gave up, or nothing was heard of it for too long."""

from pathlib import Path

from jobs.ledger import FAILED, append_event
from jobs.run_ledger import RunLedger, read_run


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
