"""The ledger of runs: append an event once, read a run's pins back.

An event is appended under the transaction id (run_id, event), so whoever writes it first wins and every later attempt
reads the same.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.errors import MissingRequirementError
from jobs.pins import PINNED, Pins
from jobs.tables import append, read
from mis_scoring.core.identity import canonical_json
from schemas.runs import RUNS

PUBLISHED = "published"


def append_event(
    spark: SparkSession, root: Path, run_id: str, event: str, payload: Mapping[str, Any], *, attempt: int = 1
) -> None:
    """Append one event; the first payload of a (run_id, event, attempt) stays."""
    row = {
        "run_id": run_id,
        "event": event,
        "attempt": attempt,
        "at": datetime.now(UTC),
        "payload": canonical_json(dict(payload)),
    }
    rows = spark.createDataFrame(pa.Table.from_pylist([row], schema=RUNS.columns))
    append(rows, root, RUNS, transaction=f"{run_id}:{event}:{attempt}")


def event_payload(spark: SparkSession, root: Path, run_id: str, event: str) -> dict[str, Any] | None:
    """Return the payload of a run's event, or None when it has not happened."""
    rows = read(spark, root, RUNS, run_id=run_id, event=event).orderBy("attempt").limit(1).collect()
    return dict(json.loads(rows[0].payload)) if rows else None


def read_pins(spark: SparkSession, root: Path, run_id: str) -> Pins:
    """Return what the run pinned.

    Raises:
        MissingRequirementError: there is no such run.
    """
    payload = event_payload(spark, root, run_id, PINNED)
    if payload is None:
        raise MissingRequirementError(f"No run {run_id!r} in {root}: `semlabel runs` lists them.")
    return Pins(**payload)


def write_pins(spark: SparkSession, root: Path, pins: Pins) -> Pins:
    """Append the pins unless the run has some already, and return those that stand."""
    append_event(spark, root, pins.run_id, PINNED, asdict(pins))
    return read_pins(spark, root, pins.run_id)


def published_runs(spark: SparkSession, root: Path) -> DataFrame:
    """Return (run_id, published_at) of the runs that took effect."""
    rows = read(spark, root, RUNS, event=PUBLISHED)
    return rows.groupBy("run_id").agg(F.min("at").alias("published_at"))
