"""The difference between the published labels and those that a run found, with the reason of each change.

`jobs.rules.labels` as columns, pure over frames. A label whose row would be the same but for the run is no change and
is not rewritten.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.rules.labels import IDENTITY
from schemas.labels import LABEL_COLUMNS

_NAMES = LABEL_COLUMNS.names


def to_changes(
    found: DataFrame, published: DataFrame, members: DataFrame, entries: DataFrame, earlier: DataFrame
) -> DataFrame:
    """Return change, reason, before and after of each label that differs.

    Args:
        found: labels of this run, without `since_run_id`.
        published: labels before it.
        members: coverage rows of this run that may be published: only their labels may change. With `cause`, why other
            judgments may have been taken of the same pairs, or null.
        entries: (qualification_id, status, item_hash, is_quarantined) of the pinned catalog.
        earlier: the coverage that the members' labels stood on before this run.
    """
    before = _packed(published.join(members, "member_id", "left_semi"), "before")
    after = _packed(found.withColumn("since_run_id", F.lit(None).cast("string")), "after")
    joined = before.join(after, ["member_id", "qualification_id"], "full")
    joined = joined.where(_differs()).join(entries, "qualification_id", "left")
    joined = joined.join(_pins(members, "now", "cause"), "member_id").join(
        _pins(earlier, "earlier"), "member_id", "left"
    )
    return joined.where(~_is_kept()).select(
        "member_id",
        "qualification_id",
        change().alias("change"),
        _reason().alias("reason"),
        "before",
        _with_since().alias("after"),
    )


def _packed(labels: DataFrame, name: str) -> DataFrame:
    return labels.select("member_id", "qualification_id", F.struct(*_NAMES).alias(name))


def _pins(coverage: DataFrame, prefix: str, *more: str) -> DataFrame:
    columns = ("profile_hash", "catalog_version", "artifact_id", "scorer_id", "stop_reason")
    return coverage.select("member_id", *(F.col(name).alias(f"{prefix}_{name}") for name in columns), *more)


def _differs() -> Column:
    differs = F.col("before").isNull() | F.col("after").isNull()
    for name in IDENTITY:
        differs = differs | (F.col(f"before.{name}") != F.col(f"after.{name}"))
    return differs


def _is_kept() -> Column:
    """A label of a quarantined catalog entry stays published: the entry can't be judged, which rejects nothing."""
    is_quarantined = F.coalesce("is_quarantined", F.lit(False))
    return is_quarantined & F.col("after").isNull() & ~_is_member_removed()


def _is_member_removed() -> Column:
    return F.coalesce(F.col("now_stop_reason") == "member_removed", F.lit(False))


def change() -> Column:
    """Return added, removed or revised, by whether there is a `before` and an `after`."""
    return F.when(F.col("before").isNull(), "added").when(F.col("after").isNull(), "removed").otherwise("revised")


def _reason() -> Column:
    """The first cause that holds: member, entry, profile, scorer, threshold, text, cause, catalog, retrieval."""
    is_new_member = F.col("earlier_artifact_id").isNull()
    profile_changed = ~F.col("now_profile_hash").eqNullSafe(F.col("earlier_profile_hash"))
    return (
        F.when(_is_member_removed(), "member_removed")
        .when(F.col("after").isNull() & F.col("status").isNull(), "catalog_entry_removed")
        .when(F.col("after").isNull() & (F.col("status") == "retired"), "retired")
        .when(is_new_member, "first_time")
        .when(profile_changed, "profile_changed")
        .when(F.col("now_scorer_id") != F.col("earlier_scorer_id"), "scorer")
        .when(F.col("now_artifact_id") != F.col("earlier_artifact_id"), "threshold")
        .when(F.col("before.item_hash") != F.col("item_hash"), "catalog_text_changed")
        .when(F.col("cause").isNotNull(), F.col("cause"))
        .when(F.col("now_catalog_version") != F.col("earlier_catalog_version"), "catalog_changed")
        .otherwise("retrieval_moved")
    )


def _with_since() -> Column:
    since = F.coalesce(F.col("before.since_run_id"), F.col("after.published_run_id"))
    fields = [since.alias(name) if name == "since_run_id" else F.col(f"after.{name}").alias(name) for name in _NAMES]
    return F.when(F.col("after").isNotNull(), F.struct(*fields))
