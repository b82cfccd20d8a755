"""Whom a hold on inputs keeps from a run: `jobs.rules.hold` as columns."""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.pins import Pins
from jobs.rules.hold import Hold, is_run_on_hold


def is_on_hold(is_gone: Column, stands_run_id: Column, pins: Pins, holds: Sequence[Hold]) -> Column:
    """Whether a run must leave a member's labels as they are.

    Args:
        is_gone: the member is gone from `profiles`, and removed whatever is on hold.
        stands_run_id: of the coverage that the member's labels stand on; null where there is none.
    """
    if is_run_on_hold(pins.artifact_id, pins.catalog_version, holds):
        return ~is_gone
    kept_by = [hold.value for hold in holds if hold.input == "members"]
    return ~is_gone & F.coalesce(stands_run_id.isin(kept_by), F.lit(False))
