"""What published runs have done for each member, and which of two runs knows the newer state: `jobs.rules.standing` as
columns.

Scope and publishing both rest on this comparison, never on a watermark: a lost, doubled or late trigger changes
nothing.
"""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.ledger import publications
from jobs.tables import read
from schemas.coverage import COVERAGE

_PUBLICATION_ORDER = ("publication", "profiles_delta_version", "catalog_delta_version", "pinned_at", "run_id")
_PARTS = ("profiles_delta_version", "catalog_delta_version", "pinned_at")


def published_coverage(spark: SparkSession, root: Path, *, members: DataFrame | None = None) -> DataFrame:
    """Return one row a member: `stands`, the coverage that its labels stand on (null before the first), and `is_open`.

    Reads all coverage that is kept, and moves one partial row a member and file.

    Args:
        members: only of these (member_id), where they are few.
    """
    rows = of_published_runs(spark, root, read(spark, root, COVERAGE))
    return to_published(rows if members is None else rows.join(members, "member_id", "left_semi"))


def of_published_runs(spark: SparkSession, root: Path, rows: DataFrame) -> DataFrame:
    """Keep the rows of published runs, each with the `publication` (version of `labels`) from which its run holds."""
    took_effect = spark.createDataFrame(sorted(publications(root).items()), "run_id string, publication bigint")
    return rows.join(F.broadcast(took_effect), "run_id")


def to_published(coverage: DataFrame) -> DataFrame:
    """Sum the published coverage of each member up, as `jobs.rules.standing.published` does."""
    rest = [name for name in coverage.columns if name not in _PUBLICATION_ORDER]
    is_left_out = ~F.col("is_complete") & (F.col("incomplete_reason") != "superseded")
    newest = [F.max(F.when(is_left_out, F.col(part))).alias(f"left_out_{part}") for part in _PARTS]
    whole = F.when(F.col("is_complete"), F.struct(*_PUBLICATION_ORDER, *rest))
    found = coverage.groupBy("member_id").agg(F.max(whole).alias("stands"), *newest)
    return found.select("member_id", "stands", _is_open().alias("is_open"))


def _is_open() -> Column:
    is_newer = F.lit(False)
    for part in _PARTS:
        is_newer = is_newer | (F.col(f"left_out_{part}") > F.col(f"stands.{part}"))
    never_complete = F.col("stands").isNull() & F.col("left_out_pinned_at").isNotNull()
    return never_complete | F.coalesce(is_newer, F.lit(False))


def standing(mine: str, theirs: str) -> Column:
    """Compare a run's pins of a member with its published ones, as `jobs.rules.standing.standing` does.

    Args:
        mine, theirs: aliases of two frames, or names of two structs, with the columns of `coverage`.
    Returns:
        null when mine may be published; "superseded" when theirs are newer in some part and older in none;
        "conflicting" when each is newer in some part.
    """
    order = [_profile_order(mine, theirs), _catalog_order(mine, theirs), _decision_order(mine, theirs)]
    newer = F.greatest(*order, F.lit(0)) > 0
    older = F.least(*order, F.lit(0)) < 0
    is_published = F.col(f"{theirs}.run_id").isNotNull()
    return F.when(is_published & newer & older, "conflicting").when(is_published & newer, "superseded")


def versions_covered(mine: str, theirs: str) -> dict[str, Column]:
    """Return the versions that a published row names, by column: `jobs.rules.standing.versions_covered`."""
    same = {
        "profiles_delta_version": F.col(f"{mine}.profile_hash").eqNullSafe(F.col(f"{theirs}.profile_hash")),
        "catalog_delta_version": F.col(f"{mine}.catalog_version") == F.col(f"{theirs}.catalog_version"),
    }
    return {
        name: F.when(is_same, F.greatest(f"{mine}.{name}", f"{theirs}.{name}")).otherwise(F.col(f"{mine}.{name}"))
        for name, is_same in same.items()
    }


def _profile_order(mine: str, theirs: str) -> Column:
    same = F.col(f"{mine}.profile_hash").eqNullSafe(F.col(f"{theirs}.profile_hash"))
    by_table = _sign(mine, theirs, "profiles_delta_version")
    by_source = F.coalesce(_sign(mine, theirs, "profile_version"), F.lit(0))
    return F.when(same, 0).when(by_table != 0, by_table).otherwise(by_source)


def _catalog_order(mine: str, theirs: str) -> Column:
    same = F.col(f"{mine}.catalog_version") == F.col(f"{theirs}.catalog_version")
    return F.when(same, 0).otherwise(_sign(mine, theirs, "catalog_delta_version"))


def _decision_order(mine: str, theirs: str) -> Column:
    same = F.lit(True)
    for part in ("artifact_id", "retriever_id", "candidates_per_member"):
        same = same & (F.col(f"{mine}.{part}") == F.col(f"{theirs}.{part}"))
    return F.when(same, 0).otherwise(_sign(mine, theirs, "pinned_at"))


def _sign(mine: str, theirs: str, part: str) -> Column:
    """1 where theirs is newer, -1 where mine is, null where one has none."""
    mine_at, theirs_at = F.col(f"{mine}.{part}"), F.col(f"{theirs}.{part}")
    return F.when(theirs_at > mine_at, 1).when(theirs_at < mine_at, -1).when(theirs_at == mine_at, 0)
