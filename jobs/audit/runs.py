"""The runs behind a label, as the ledger has them, and what one of its judgments cost."""

from typing import Any

from jobs.ledger import PUBLISHED
from jobs.pins import PINNED, Pins
from jobs.run_ledger import RunLedger, of_rows
from jobs.table_reader import Reader, is_in
from schemas.runs import RUNS


def ledgers_of(reader: Reader, run_ids: set[str]) -> dict[str, RunLedger]:
    """Read the events of some runs at once."""
    rows = reader.rows(f"SELECT * FROM runs WHERE {is_in('run_id', run_ids)} ORDER BY at", RUNS)
    return {run_id: of_rows(run_id, [row for row in rows if row["run_id"] == run_id]) for run_id in run_ids}


def pins_in(ledger: RunLedger | None) -> Pins | None:
    """Return what a run pinned; None where the ledger does not have it."""
    return Pins(**ledger.of(PINNED)) if ledger is not None and ledger.of(PINNED) else None


def run_line(run_id: str | None, ledgers: dict[str, RunLedger]) -> dict[str, Any] | None:
    """Return who started a run and when: run_id, kind, trigger_id (its DAG run), pinned_at, published_at."""
    if run_id is None:
        return None
    ledger = ledgers.get(run_id)
    pins = pins_in(ledger)
    published = ledger.times.get(PUBLISHED) if ledger else None
    return {
        "run_id": run_id,
        "kind": pins and pins.kind,
        "trigger_id": pins and pins.trigger_id,
        "pinned_at": pins and pins.pinned_at,
        "published_at": published and published.isoformat(),
    }


def cost_of(ledger: RunLedger | None, usd_per_hour: float | None) -> dict[str, Any] | None:
    """Return what a judgment cost: the mean over the pairs that its run scored; None where the ledger has no round.

    Returns:
        pairs, and a pair's tokens, seconds of the score stage, and usd (None where no price is set).
    """
    scored = [jobs["score_round"] for jobs in ledger.rounds().values() if "score_round" in jobs] if ledger else []
    pairs = sum(payload.get("scored", 0) for payload in scored)
    if not pairs:
        return None
    tokens = sum(payload.get("tokens", 0) + payload.get("tie_tokens", 0) for payload in scored)
    seconds = sum(payload.get("seconds", 0.0) for payload in scored) / pairs
    usd = None if usd_per_hour is None else seconds * usd_per_hour / 3600
    return {"pairs": pairs, "tokens": tokens / pairs, "seconds": seconds, "usd": usd}
