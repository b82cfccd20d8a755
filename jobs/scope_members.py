"""Say which members a run looks at and why, and whose candidates stay as they are, before anything is done.

Compares every profile and all published coverage, by hashes; writes a row a member in scope. The first scope of a run
stands: every later attempt reads it back.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.catalog_changes import retired_only_since
from jobs.coverage import published_coverage
from jobs.input_hold import standing_holds
from jobs.inputs import current_profiles
from jobs.pins import Pins
from jobs.published_event import count_by
from jobs.revoked_members import revoked_members
from jobs.rules.hold import is_run_on_hold
from jobs.scope import to_scope, without_erased
from jobs.settings import Settings
from jobs.standing_coverage import standing_coverage
from jobs.table_reader import pins_of, query, runs_with_rows
from jobs.tables import append, read
from schemas.candidates import CANDIDATES
from schemas.coverage import COVERAGE
from schemas.erasures import ERASURES
from schemas.profiles import PROFILES
from schemas.scope import SCOPE


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run to scope."""

    run_id: str


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Write `scope` of the run.

    Returns:
        members, reasons (the first of each member), members_removed, members_keeping_candidates; is_on_hold: the pinned
        labeler or catalog is.
    """
    root = settings.tables
    pins = pins_of(root, params.run_id)
    every_profile = current_profiles(read(spark, root, PROFILES, version=pins.profiles_delta_version))
    profiles = without_erased(every_profile, read(spark, root, ERASURES))
    published, holds = published_coverage(spark, root), standing_holds(root)
    retired_since = _retired_since(root, pins)
    found = to_scope(
        profiles,
        published,
        pins,
        revoked=revoked_members(spark, root, published, pins),
        holds=holds,
        retired_since=retired_since,
        runs_with_candidates=runs_with_rows(root, CANDIDATES) if retired_since else (),
    )
    append(found.withColumn("run_id", F.lit(pins.run_id)), root, SCOPE, transaction=f"{pins.run_id}:scope")
    reasons = count_by(root, SCOPE, "reason", pins.run_id)
    removed = reasons.pop("member_removed", 0)
    return {
        "members": sum(reasons.values()),
        "reasons": reasons,
        "members_removed": removed,
        "is_on_hold": is_run_on_hold(pins.artifact_id, pins.catalog_version, holds),
        "members_keeping_candidates": count_by(root, SCOPE, "keeps_candidates", pins.run_id).get(True, 0),
    }


def _retired_since(root: Path, pins: Pins) -> list[int]:
    """Return the versions of `catalog` that members' candidates come from and since which entries only went."""
    if pins.kind == "weekly_full":
        return []
    sql = f"{standing_coverage(root)} SELECT DISTINCT retrieval_delta_version AS version FROM stands"
    versions = [row["version"] for row in query(root, sql, COVERAGE) if row["version"] is not None]
    return retired_only_since(root, versions, pins.catalog_delta_version)
