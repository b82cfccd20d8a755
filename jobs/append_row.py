"""Append one row to a table once, by delta-rs: what a person or a step says, without a Spark query."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from jobs.table_path import table_path
from schemas.table import Table


@retry(
    retry=retry_if_exception_type(CommitFailedError),
    stop=stop_after_attempt(20),
    wait=wait_random_exponential(max=5),
    reraise=True,
)
def append_row(root: Path, table: Table, row: Mapping[str, Any], *, transaction: str) -> None:
    """Append the row unless one was appended under the same transaction id: the first one stays."""
    delta = DeltaTable(table_path(root, table))
    if delta.transaction_version(transaction) is not None:
        return
    write_deltalake(
        delta,
        pa.Table.from_pylist([dict(row)], schema=table.columns),
        mode="append",
        commit_properties=CommitProperties(app_transactions=[Transaction(transaction, 1)]),
    )
