"""What keeps a table small: rows past their retention removed, small files joined, files that nobody needs deleted.

Each is one commit that another writer may win against; then it is left for the next time. Nothing of a run that is
still going is touched.
"""

import logging
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, WriterProperties
from deltalake.exceptions import CommitFailedError, DeltaError

from jobs.table_path import table_path
from jobs.table_reader import literal
from schemas.table import Table

log = logging.getLogger(__name__)

# whoever looks for one member decodes a page of each column and run of sorted rows: a tenth of the default 20,000 rows
SMALL_PAGES = WriterProperties(compression="ZSTD", data_page_row_count_limit=2000, write_batch_size=1000)


def expire_rows(root: Path, table: Table, run_ids: Collection[str]) -> int:
    """Remove the rows of runs, whole partitions at a time; return how many runs had any."""
    if not run_ids:
        return 0
    delta = DeltaTable(table_path(root, table))
    found = sorted({partition["run_id"] for partition in delta.partitions()} & set(run_ids))
    if not found:
        return 0
    named = ", ".join(literal(run_id) for run_id in found)
    return len(found) if _attempt(table, lambda: delta.delete(f"run_id IN ({named})")) else 0


def compact(root: Path, table: Table, *, ended: Collection[str]) -> int:
    """Join small files; return how many fewer there are.

    Args:
        ended: runs that write no more. A table with partitions by run is compacted for those alone: a run that
            replaces its own partition would lose against this commit and fail.
    """
    delta = DeltaTable(table_path(root, table))
    filters = None
    if "run_id" in table.partition_by:
        crowded = _runs_with_small_files(delta, table) & set(ended)
        if not crowded:
            return 0
        filters = [("run_id", "in", sorted(crowded))]
    done = _attempt(table, lambda: delta.optimize.compact(partition_filters=filters, writer_properties=SMALL_PAGES))
    return int(done["numFilesRemoved"]) - int(done["numFilesAdded"]) if done else 0


def vacuum(root: Path, table: Table, *, hours: int, versions: Iterable[int]) -> int:
    """Delete the files that no version of the last hours needs, nor any version named; return how many.

    Files of no version, which a killed writer left, go too. The current version stays whole: rows are removed by
    `expire_rows` alone.
    """
    delta = DeltaTable(table_path(root, table))
    kept = [version for version in sorted(set(versions)) if _is_readable(root, table, version)]

    def run(*, is_dry: bool) -> list[str]:
        return delta.vacuum(
            retention_hours=hours, dry_run=is_dry, enforce_retention_duration=False, full=True, keep_versions=kept
        )

    unneeded = run(is_dry=True)  # first, since a vacuum of nothing makes two commits too
    return len(_attempt(table, lambda: run(is_dry=False)) or ()) if unneeded else 0


def _runs_with_small_files(delta: DeltaTable, table: Table) -> set[str]:
    """Return the runs that have a partition of several files."""
    columns = [f"partition.{name}" for name in table.partition_by]
    files = pa.table(delta.get_add_actions(flatten=True)).select(columns)
    counted = files.group_by(columns).aggregate([([], "count_all")]).to_pylist()
    return {row["partition.run_id"] for row in counted if row["count_all"] > 1}


def _is_readable(root: Path, table: Table, version: int) -> bool:
    try:
        DeltaTable(table_path(root, table), version=version)
    except DeltaError:  # its log entries are gone: there is nothing left to keep
        return False
    return True


def _attempt(table: Table, commit: Callable[[], Any]) -> Any:
    """Return what the commit returns; None where another writer was first."""
    try:
        return commit()
    except CommitFailedError as error:
        log.info("%s: another writer was first, left for the next time: %s", table.name, error)
        return None
