"""Publish what a run found: coverage and changes first, then ONE Delta commit on `labels`.

That commit is the moment the run takes effect. It is a compare-and-swap: computed against `labels` after n
publications, as number n+1 of a transaction sequence that all publishers share, so of two that saw n one loses and
computes again. A member whose published pins are newer is left out (superseded): a publisher that comes late never wins
over a newer one. Past a limit the run is held, with its coverage and changes written and the labels as they were. A
rollback is published the same way; what it publishes comes from earlier runs (`jobs.restored_labels`).

Work grows with the members in scope and their pairs. Read as a whole: the judgments of the scorer (three columns), the
labels, the published coverage and the catalog; nothing of them is moved but the rows of members in scope.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from jobs.artifact_folder import load_artifact
from jobs.coverage import published_coverage, standing, versions_covered
from jobs.hold import hold_past_limits
from jobs.input_hold import standing_holds
from jobs.judgments import usable_judgments
from jobs.label_diff import to_changes
from jobs.labels_commit import LabelsBase, LostRaceError, mark_publication, swap_labels
from jobs.ledger import PUBLISHED, event_payload, runs_that_may_publish
from jobs.member_outcomes import to_coverage, to_labels
from jobs.on_hold import is_on_hold
from jobs.pins import Pins
from jobs.published_event import (
    append_published,
    count_by,
    labels_version_of,
    repair_published_event,
    repair_published_events,
)
from jobs.rendering import item_text, text_hash
from jobs.restored_labels import write_restored
from jobs.rules.hold import Hold
from jobs.rules.standing import ROLLBACK, needs_commit
from jobs.sampled_outcomes import keep_stop_sample
from jobs.scope import n_in_scope
from jobs.settings import Settings
from jobs.stop_early import judged_pairs
from jobs.stop_sample import UP_TO_THE_STOP
from jobs.table_reader import pins_of
from jobs.tables import read, replace
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.quarantine import QUARANTINE
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.scope import SCOPE


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run to publish."""

    run_id: str


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Publish the run unless it is published, and return its counts."""
    root = settings.tables
    pins = pins_of(root, params.run_id)
    done = event_payload(root, pins.run_id, PUBLISHED)
    if done is None:
        losers_try_again = Retrying(
            retry=retry_if_exception_type(LostRaceError),
            stop=stop_after_attempt(20),
            wait=wait_random_exponential(max=20),
            reraise=True,
        )
        done = losers_try_again(_publish_once, spark, settings, pins)
    return done


def _publish_once(spark: SparkSession, settings: Settings, pins: Pins) -> dict[str, Any]:
    root = settings.tables
    if labels_version_of(root, pins.run_id) is not None:  # another attempt committed and wrote no event
        return repair_published_event(root, pins.run_id)
    base = LabelsBase.of(root)
    repair_published_events(root)  # a commit without its event would hide the coverage that it stands on
    if pins.kind == ROLLBACK:
        write_restored(spark, root, pins, base)
    else:
        earlier = _compare_coverage(spark, root, pins)
        _compare_labels(spark, root, pins, base, earlier)
        keep_stop_sample(spark, root, pins)
    counts = count_by(root, LABEL_CHANGES, "change", pins.run_id)
    if pins.kind != ROLLBACK:  # a person has asked for it, and sees the counts
        hold_past_limits(settings, pins)
    written = read(spark, root, LABEL_CHANGES, run_id=pins.run_id)
    version = swap_labels(spark, root, pins.run_id, base, written) if counts else None
    if version is None and needs_commit(pins.kind, n_changes=0, n_others_open=_n_others_open(settings, pins)):
        version = mark_publication(root, pins.run_id, base)
    return append_published(root, pins.run_id, version, counts, compared_with=base.version)


def _n_others_open(settings: Settings, pins: Pins) -> int:
    return len(runs_that_may_publish(settings.tables, idle_hours=settings.run_idle_hours) - {pins.run_id})


def _compare_coverage(spark: SparkSession, root: Path, pins: Pins) -> DataFrame:
    """Write the run's coverage, and return the coverage that the labels of its members stood on before."""
    scope = read(spark, root, SCOPE, run_id=pins.run_id)
    candidates = read(spark, root, CANDIDATES, run_id=pins.run_id)
    tables = (MEMBER_ROUNDS, ROUND_OUTCOMES)
    rounds, outcomes = (read(spark, root, table, run_id=pins.run_id).where(UP_TO_THE_STOP) for table in tables)
    found = to_coverage(scope, candidates, rounds, outcomes, pins)
    published = published_coverage(spark, root, members=scope.select("member_id"))
    earlier = published.where("stands IS NOT NULL").select("stands.*")
    replace(_with_standing(found, earlier, pins, standing_holds(root)), root, COVERAGE, run_id=pins.run_id)
    return earlier


def _with_standing(coverage: DataFrame, earlier: DataFrame, pins: Pins, holds: Sequence[Hold]) -> DataFrame:
    """Mark as left out the members whose published pins are newer than the run's, and those on hold since its plan.

    A row that may be published names the newest versions that it is true of.
    """
    is_gone = F.coalesce(F.col("mine.stop_reason") == "member_removed", F.lit(False))
    on_hold = F.when(is_on_hold(is_gone, F.col("theirs.run_id"), pins, holds), "on_hold")
    joined = coverage.alias("mine").join(earlier.alias("theirs"), "member_id", "left")
    reason = F.coalesce(standing("mine", "theirs"), on_hold, F.col("mine.incomplete_reason"))
    versions = versions_covered("mine", "theirs")
    covered = [version.alias(f"covered_{name}") for name, version in versions.items()]
    marked = joined.select("mine.*", reason.alias("left_out"), *covered)
    raised = {
        name: F.when(F.col("left_out").isNull(), F.col(f"covered_{name}")).otherwise(F.col(name)) for name in versions
    }
    state = {"incomplete_reason": F.col("left_out"), "is_complete": F.col("left_out").isNull()}
    return marked.withColumns(raised | state)


def _compare_labels(spark: SparkSession, root: Path, pins: Pins, base: LabelsBase, earlier: DataFrame) -> None:
    """Write what the run changes of `labels` as they are at the base."""
    because = read(spark, root, SCOPE, run_id=pins.run_id).select("member_id", _cause(pins).alias("cause"))
    members = read(spark, root, COVERAGE, run_id=pins.run_id, is_complete=True).join(because, "member_id")
    changes = to_changes(
        _found_labels(spark, root, pins, members),
        read(spark, root, LABELS, version=base.version),
        members,
        _entries(spark, root, pins),
        earlier,
    )
    replace(changes.withColumn("run_id", F.lit(pins.run_id)), root, LABEL_CHANGES, run_id=pins.run_id)


def _cause(pins: Pins) -> Column:
    """Why a run may take other judgments of the same pairs."""
    undone = F.when(F.col("reason").isin("revoked", "rolled_back"), F.col("reason"))
    return F.coalesce(undone, F.lit("recomputed" if pins.generation else None))


def _found_labels(spark: SparkSession, root: Path, pins: Pins, members: DataFrame) -> DataFrame:
    rounds = read(spark, root, MEMBER_ROUNDS, run_id=pins.run_id).where(UP_TO_THE_STOP)
    known = usable_judgments(spark, root, pins, rounds, n_queries=n_in_scope(root, pins.run_id))
    candidates = read(spark, root, CANDIDATES, run_id=pins.run_id)
    return to_labels(judged_pairs(rounds, known), candidates, members, pins)


def _entries(spark: SparkSession, root: Path, pins: Pins) -> DataFrame:
    catalog = read(spark, root, CATALOG, version=pins.catalog_delta_version)
    aside = read(spark, root, QUARANTINE, run_id=pins.run_id).where("table = 'catalog'")
    faulty = aside.select(F.col("key").alias("qualification_id"), F.lit(True).alias("is_quarantined"))
    item_hash = text_hash(item_text(F.col("text"), load_artifact(pins).prompt))
    entries = catalog.select("qualification_id", "status", item_hash.alias("item_hash"))
    return entries.join(faulty.distinct(), "qualification_id", "left").dropDuplicates(["qualification_id"])
