"""Say which members are in scope and why, and how much the run may cost at most, before anything is spent.

Compares every profile and all published coverage, by hashes; writes a row a member in scope. The first plan of a run
stands: every later attempt reads it back.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.coverage import published_coverage
from jobs.input_hold import standing_holds
from jobs.inputs import current_profiles
from jobs.pins import Pins
from jobs.published_event import count_by
from jobs.revoked_members import revoked_members
from jobs.rules.hold import is_run_on_hold
from jobs.run_price import price_of, refuse_above_ceiling
from jobs.scope import to_scope, without_erased
from jobs.settings import Settings
from jobs.table_reader import pins_of, query
from jobs.tables import append, read
from schemas.catalog import CATALOG
from schemas.erasures import ERASURES
from schemas.profiles import PROFILES
from schemas.scope import SCOPE


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run to plan."""

    run_id: str


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Write `scope` of the run, and price it.

    Returns:
        members, reasons, members_removed; is_on_hold: the pinned labeler or catalog is; pairs, tokens, seconds and
        cost_usd at most, null where not known.
    Raises:
        CeilingError: the run may cost more than a setting allows.
    """
    root = settings.tables
    pins = pins_of(root, params.run_id)
    every_profile = current_profiles(read(spark, root, PROFILES, version=pins.profiles_delta_version))
    profiles = without_erased(every_profile, read(spark, root, ERASURES))
    published, holds = published_coverage(spark, root), standing_holds(root)
    found = to_scope(
        profiles,
        published,
        pins,
        n_entries=_n_entries(settings, pins),
        revoked=revoked_members(spark, root, published, pins),
        holds=holds,
    )
    rows = found.withColumn("run_id", F.lit(pins.run_id))
    append(rows, root, SCOPE, transaction=f"{pins.run_id}:scope")
    reasons = count_by(root, SCOPE, "reason", pins.run_id)
    price = price_of(settings, pins)
    refuse_above_ceiling(price, settings)
    removed = reasons.pop("member_removed", 0)
    return {
        "members": sum(reasons.values()),
        "reasons": reasons,
        "members_removed": removed,
        "is_on_hold": is_run_on_hold(pins.artifact_id, pins.catalog_version, holds),
        **price.as_dict(),
    }


def _n_entries(settings: Settings, pins: Pins) -> int:
    sql = "SELECT count(*) AS n FROM catalog WHERE status = 'active'"
    return int(query(settings.tables, sql, CATALOG, versions={CATALOG.name: pins.catalog_delta_version})[0]["n"])
