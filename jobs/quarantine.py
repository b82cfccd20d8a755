"""Put inputs that could not be used aside, with where and why, and never with their text."""

from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.tables import replace
from schemas.quarantine import QUARANTINE


def set_aside(faults: DataFrame, root: Path, *, run_id: str, step: str) -> None:
    """Write the faults of one step of a run.

    Args:
        faults: columns table, key, reason, value_hash.
    """
    now = datetime.now(UTC)
    rows = faults.withColumns({"run_id": F.lit(run_id), "step": F.lit(step), "at": F.lit(now)})
    replace(rows, root, QUARANTINE, run_id=run_id, step=step)
