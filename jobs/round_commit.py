"""Whether the scores of a round are in `judgments`, and what the ledger says they came to; without Spark.

A round is committed once, so scoring one again that is would be thrown away: its staging goes when its run is over.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from jobs.pins import Pins
from jobs.run_ledger import read_run
from jobs.table_path import table_exists, table_path
from schemas.judgments import JUDGMENTS


def round_transaction(pins: Pins, round: int) -> str:
    """Return the transaction id under which a round's scores are committed."""
    return f"{pins.run_id}:scores:{round}:{pins.scorer_id}"


def committed_result(root: Path, pins: Pins, round: int) -> Mapping[str, Any] | None:
    """Return what `score_round` left in the ledger of a round whose scores are committed; None where they are not."""
    if not table_exists(root, JUDGMENTS):
        return None
    if DeltaTable(table_path(root, JUDGMENTS)).transaction_version(round_transaction(pins, round)) is None:
        return None
    return read_run(root, pins.run_id).of(f"round_{round}_score_round") or None
