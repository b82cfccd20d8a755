"""Take the published labels back to what they were before a run, in one commit, as a run of its own.

The hold is placed before anything changes: a rollback that dies halfway then leaves a hold that `semlabel runs` shows,
and never restored labels that the next schedule overwrites. What is restored: `jobs.restored_labels`.
"""

import uuid
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from jobs import publish_labels
from jobs.catalog_version import catalog_version_of
from jobs.errors import CheckFailedError
from jobs.input_hold import place_hold
from jobs.ledger import PUBLISHED, event_payload, write_pins
from jobs.pin_inputs import snapshot
from jobs.pins import Pins, run_id_of
from jobs.rules.hold import Input
from jobs.rules.standing import ROLLBACK
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_reader import literal, pins_of, query
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.every import RUN_TABLES
from schemas.label_changes import LABEL_CHANGES

MOST_IDS = 1000  # the rest stands in `coverage`


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a person asks for.

    Attributes:
        run_id: of the run to take back.
        hold: the input that no run may use until it is released.
        is_forced: members whom a newer run has published go back, too.
    """

    run_id: str
    hold: Input = "members"
    is_forced: bool = False
    reason: str
    who: str


def roll_back(spark: SparkSession, settings: Settings, request: Request) -> dict[str, Any]:
    """Place the hold, publish the labels from before the run, and say what was restored and what was not.

    Raises:
        MissingRequirementError: there is no such run.
        CheckFailedError: it has changed no label, or its coverage is past its retention.
    """
    undone = pins_of(settings.tables, request.run_id)
    _require_changes(settings, undone)
    create_missing(settings.tables, *RUN_TABLES)
    pins = write_pins(settings.tables, _pins(settings, undone, request))
    hold_id = place_hold(settings.tables, pins, request.hold, undone=undone, reason=request.reason, who=request.who)
    done = publish_labels.run(spark, settings, publish_labels.Params(run_id=pins.run_id))
    return {
        "run_id": pins.run_id,
        "rolls_back": undone.run_id,
        "labels_version": done["labels_version"],
        "changes": done["changes"],
        "members_restored": done["members_published"],
        **_left_alone(settings, pins),
        "hold_id": hold_id,
        "hold": request.hold,
    }


def _require_changes(settings: Settings, undone: Pins) -> None:
    done = event_payload(settings.tables, undone.run_id, PUBLISHED)
    covered = f"SELECT 1 FROM coverage WHERE run_id = {literal(undone.run_id)} LIMIT 1"
    fault = None
    if done is None:
        fault = "is not published"
    elif done["labels_version"] is None:
        fault = "was published and changed no label"
    elif not query(settings.tables, covered, COVERAGE):
        fault = f"is older than the {COVERAGE.kept_days} days that coverage is kept"
    if fault:
        raise CheckFailedError(f"Run {undone.run_id} {fault}: nothing can be rolled back. `semlabel runs` lists them.")


def _pins(settings: Settings, undone: Pins, request: Request) -> Pins:
    """What the run pinned, but for the inputs: who and what is still there is seen as it is now."""
    trigger_id = f"manual-{uuid.uuid4()}"
    profiles_delta_version, catalog_delta_version, pinned_at = snapshot(settings.tables)
    return replace(
        undone,
        run_id=run_id_of(ROLLBACK, trigger_id, settings.environment),
        kind=ROLLBACK,
        trigger_id=trigger_id,
        pinned_at=pinned_at.isoformat(),
        profiles_delta_version=profiles_delta_version,
        catalog_delta_version=catalog_delta_version,
        catalog_version=catalog_version_of(settings.tables, catalog_delta_version),
        generation=0,
        rolls_back=undone.run_id,
        is_forced=request.is_forced,
    )


def _left_alone(settings: Settings, pins: Pins) -> dict[str, Any]:
    root, of_run = settings.tables, f"run_id = {literal(pins.run_id)}"
    kept = f"FROM coverage WHERE {of_run} AND NOT is_complete"
    ids = f"SELECT member_id {kept} ORDER BY member_id LIMIT {MOST_IDS}"
    gone = f"""
        SELECT count(*) AS n FROM coverage WHERE run_id = {literal(pins.rolls_back)} AND is_complete
        AND member_id NOT IN (SELECT member_id FROM coverage WHERE {of_run})"""
    without_entry = f"""
        SELECT count(*) AS n FROM label_changes c JOIN coverage v
        ON v.member_id = c.member_id AND v.{of_run} AND v.is_complete
        WHERE c.run_id = {literal(pins.rolls_back)} AND c.before IS NOT NULL AND c.qualification_id NOT IN (
            SELECT qualification_id FROM catalog WHERE status = 'active' AND qualification_id IS NOT NULL)"""
    at = {CATALOG.name: pins.catalog_delta_version}
    return {
        "members_kept": query(root, f"SELECT count(*) AS n {kept}", COVERAGE)[0]["n"],
        "kept": [row["member_id"] for row in query(root, ids, COVERAGE)],
        "members_gone": query(root, gone, COVERAGE)[0]["n"],
        "labels_without_entry": query(root, without_entry, LABEL_CHANGES, COVERAGE, CATALOG, versions=at)[0]["n"],
    }
