"""The one commit on `labels`: a compare-and-swap by a transaction sequence that all publishers share.

The number of a publication is the sequence's own. The table's version would not do: maintenance moves it as well, and a
publisher that read it after such a commit would take a number of its own.
"""

from dataclasses import dataclass
from pathlib import Path

from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from jobs.published_event import labels_version_of
from jobs.table_path import table_path
from mis_scoring.core.errors import SemlabelError
from schemas.labels import LABELS

_SEQUENCE = "semlabel-labels"
_TXN_CONF = ("spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion")
_METADATA_CONF = "spark.databricks.delta.commitInfo.userMetadata"


class LostRaceError(SemlabelError):
    """Another publisher committed first; compute again against the labels that stand now."""


@dataclass(frozen=True, kw_only=True)
class LabelsBase:
    """`labels` as a publisher found it.

    Attributes:
        version: of the table; maintenance moves it as well.
        n_publications: the number of the last publication in the sequence.
    """

    version: int
    n_publications: int

    @classmethod
    def of(cls, root: Path) -> "LabelsBase":
        """Look at both at once."""
        labels = DeltaTable(table_path(root, LABELS))
        return cls(version=labels.version(), n_publications=labels.transaction_version(_SEQUENCE) or 0)


def swap_labels(spark: SparkSession, root: Path, run_id: str, base: LabelsBase, changes: DataFrame) -> int:
    """Commit the changes as the publication after `base`; return the version of the commit.

    Raises:
        LostRaceError: another publisher committed in between.
    """
    changes.createOrReplaceTempView("changes_to_publish")
    columns = ", ".join(LABELS.columns.names)
    values = ", ".join(f"c.after.{name}" for name in LABELS.columns.names)
    updates = ", ".join(f"l.{name} = c.after.{name}" for name in LABELS.columns.names)
    merge = f"""
        MERGE INTO delta.`{table_path(root, LABELS)}` l USING changes_to_publish c
        ON l.member_id = c.member_id AND l.qualification_id = c.qualification_id
        WHEN MATCHED AND c.change = 'removed' THEN DELETE
        WHEN MATCHED THEN UPDATE SET {updates}
        WHEN NOT MATCHED AND c.after IS NOT NULL THEN INSERT ({columns}) VALUES ({values})"""
    number = str(base.n_publications + 1)
    with _SessionConf(spark, dict(zip(_TXN_CONF, (_SEQUENCE, number), strict=True)) | {_METADATA_CONF: run_id}):
        try:
            spark.sql(merge).collect()
        except PySparkException as error:
            if "CONCURRENT" in str(error):
                raise LostRaceError(f"labels moved past version {base.version} while {run_id} was published") from error
            raise
    version = labels_version_of(root, run_id)
    if version is None:  # the sequence had passed the number: Delta skipped the merge
        raise LostRaceError(f"labels moved past version {base.version} while {run_id} was published")
    return version


def mark_publication(root: Path, run_id: str, base: LabelsBase) -> int:
    """Commit no label as the publication after `base`, so that whoever computed before computes again.

    Raises:
        LostRaceError: another publisher committed in between.
    """
    as_it_was = DeltaTable(table_path(root, LABELS), version=base.version)
    number = Transaction(_SEQUENCE, base.n_publications + 1)
    properties = CommitProperties(
        custom_metadata={"userMetadata": run_id}, app_transactions=[number], max_commit_retries=0
    )
    try:
        write_deltalake(as_it_was, LABELS.columns.empty_table(), mode="append", commit_properties=properties)
    except CommitFailedError as error:
        raise LostRaceError(f"labels moved past version {base.version} while {run_id} was published") from error
    return base.version + 1


class _SessionConf:
    """Set session configuration for a block, and take it back: other writes must not carry it."""

    def __init__(self, spark: SparkSession, values: dict[str, str]) -> None:
        self._spark, self._values = spark, values

    def __enter__(self) -> None:
        for key, value in self._values.items():
            self._spark.conf.set(key, value)

    def __exit__(self, *_: object) -> None:
        for key in self._values:
            self._spark.conf.unset(key)
