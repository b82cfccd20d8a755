"""What a rollback publishes: the coverage and the labels from before a run, as rows of the rollback's own.

`jobs.rules.rollback` as columns. A restored member's coverage row is the one from before the run, so scope, staleness
and audit see what the labels were made from; `restored_run_id` names its run. Reads the coverage of the run's members
and the changes since, which both grow with what the run and later ones did, and the keys of `profiles` and `catalog`.
"""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from jobs.coverage import of_published_runs, to_published
from jobs.label_diff import change
from jobs.labels_commit import LabelsBase
from jobs.ledger import publications
from jobs.pins import Pins
from jobs.scope import without_erased
from jobs.tables import read, replace
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.erasures import ERASURES
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABEL_COLUMNS, LABELS
from schemas.profiles import PROFILES

_DECIDES = ("profile_hash", "catalog_version", "artifact_id", "retriever_id", "candidates_per_member")
_NOTHING_DONE = ("candidates", "rounds", "judged", "accepted", "depth")


def write_restored(spark: SparkSession, root: Path, pins: Pins, base: LabelsBase) -> None:
    """Write coverage and label changes of a rollback, computed against `labels` at the base."""
    publication = publications(root)[pins.rolls_back]
    coverage = of_published_runs(spark, root, read(spark, root, COVERAGE))
    changes = of_published_runs(spark, root, read(spark, root, LABEL_CHANGES)).where(
        F.col("publication") >= publication
    )
    profiles = read(spark, root, PROFILES, version=pins.profiles_delta_version)
    present = without_erased(profiles.select("member_id").distinct(), read(spark, root, ERASURES))
    fates = to_fates(
        to_sides(coverage, pins, publication),
        changes.where(F.col("publication") > publication).select("member_id").distinct(),
        present,
        is_forced=pins.is_forced,
    )
    replace(to_coverage(fates, pins), root, COVERAGE, run_id=pins.run_id)
    members = read(spark, root, COVERAGE, run_id=pins.run_id, is_complete=True)
    entries = read(spark, root, CATALOG, version=pins.catalog_delta_version)
    restored = to_changes(changes, read(spark, root, LABELS, version=base.version), members, entries)
    replace(restored.withColumn("run_id", F.lit(pins.run_id)), root, LABEL_CHANGES, run_id=pins.run_id)


def to_sides(coverage: DataFrame, pins: Pins, publication: int) -> DataFrame:
    """Return member_id, ran, stands and earlier, structs of coverage columns, of each member that the run covered.

    Args:
        coverage: of published runs, with `publication`; `publication`: of the run that is rolled back.
    """
    names = COVERAGE.columns.names
    of_run = coverage.where((F.col("run_id") == pins.rolls_back) & F.col("is_complete"))
    ran = of_run.select("member_id", F.struct(*names).alias("ran"))
    of_members = coverage.join(ran, "member_id", "left_semi")
    stands = to_published(of_members).select("member_id", "stands")
    before = to_published(of_members.where(F.col("publication") < publication)).where("stands IS NOT NULL")
    earlier = before.select("member_id", F.struct(*(F.col(f"stands.{name}") for name in names)).alias("earlier"))
    return ran.join(stands, "member_id").join(earlier, "member_id", "left")


def to_fates(sides: DataFrame, changed_since: DataFrame, present: DataFrame, *, is_forced: bool) -> DataFrame:
    """Add `fate`: restored, republished or gone.

    Args:
        changed_since: member_id of those of whom a later run has changed a label.
        present: member_id of the profiles as they are now, without the erased.
    """
    marked = sides.join(changed_since.withColumn("is_changed", F.lit(True)), "member_id", "left")
    marked = marked.join(present.withColumn("is_present", F.lit(True)), "member_id", "left")
    is_republished = F.coalesce("is_changed", F.lit(False))
    for name in _DECIDES:
        is_republished = is_republished | ~F.col(f"ran.{name}").eqNullSafe(F.col(f"stands.{name}"))
    kept = F.lit(False) if is_forced else is_republished
    fate = F.when(F.col("is_present").isNull(), "gone").when(kept, "republished").otherwise("restored")
    return marked.withColumn("fate", fate).drop("is_changed", "is_present")


def to_coverage(fates: DataFrame, pins: Pins) -> DataFrame:
    """Return the coverage rows of the rollback; who is gone has none, so that the next run removes the labels."""
    rows = fates.where("fate != 'gone'").select("member_id", "fate", "earlier", _row().alias("row"))
    is_restored, was_covered = F.col("fate") == "restored", F.col("earlier").isNotNull()
    origin = F.when(was_covered, F.coalesce("row.restored_run_id", "row.run_id")).otherwise(F.lit(pins.run_id))
    changed: dict[str, Column] = {
        "run_id": F.lit(pins.run_id),
        "is_complete": is_restored,
        "incomplete_reason": F.when(~is_restored, "superseded"),
        "restored_run_id": F.when(is_restored, origin),
    }
    undone = is_restored & ~was_covered
    changed |= {name: F.when(undone, F.lit(0)).otherwise(F.col(f"row.{name}")) for name in _NOTHING_DONE}
    changed["stop_reason"] = F.when(undone, "rolled_back").otherwise(F.col("row.stop_reason"))
    return rows.select(*(changed.get(name, F.col(f"row.{name}")).alias(name) for name in COVERAGE.columns.names))


def _row() -> Column:
    """The coverage to take the member back to; the run's own where none stood before, or where the newer stays."""
    return F.when(F.col("fate") == "restored", F.coalesce("earlier", "ran")).otherwise(F.col("ran"))


def to_changes(changes: DataFrame, labels: DataFrame, members: DataFrame, entries: DataFrame) -> DataFrame:
    """Return change, reason, before and after of each label that the rollback moves.

    Args:
        changes: of the run and of later ones, with `publication`; the first of a label says what stood before.
        labels: as they are; members: (member_id) who is restored; entries: the catalog as it is.
    """
    first = Window.partitionBy("member_id", "qualification_id").orderBy("publication")
    moved = changes.join(members, "member_id", "left_semi").withColumn("place", F.row_number().over(first))
    target = moved.where("place = 1").select("member_id", "qualification_id", F.col("before").alias("then"))
    active = entries.where("status = 'active'").select("qualification_id", F.lit(True).alias("is_active")).distinct()
    now = labels.select("member_id", "qualification_id", F.struct(*LABEL_COLUMNS.names).alias("before"))
    joined = target.join(now, ["member_id", "qualification_id"], "left").join(active, "qualification_id", "left")
    found = joined.withColumn("after", F.when(F.col("is_active"), F.col("then")))
    return found.where(~F.col("before").eqNullSafe(F.col("after"))).select(
        "member_id", "qualification_id", change().alias("change"), F.lit("rollback").alias("reason"), "before", "after"
    )
