"""Put inputs that could not be used aside, with where and why, and never with their text."""

from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.tables import read, replace
from schemas.quarantine import QUARANTINE


def set_aside(faults: DataFrame, root: Path, *, run_id: str, step: str) -> None:
    """Write the faults of one step of a run.

    Args:
        faults: columns table, key, reason, value_hash.
    """
    now = datetime.now(UTC)
    rows = faults.withColumns({"run_id": F.lit(run_id), "step": F.lit(step), "at": F.lit(now)})
    replace(rows, root, QUARANTINE, run_id=run_id, step=step)


def quarantined_keys(spark: SparkSession, root: Path, *, run_id: str, table: str) -> DataFrame:
    """Return (key, reason) of what the run set aside of one table."""
    rows = read(spark, root, QUARANTINE, run_id=run_id)
    return rows.where(F.col("table") == table).select("key", "reason").dropDuplicates(["key"])
