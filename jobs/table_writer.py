"""Write rows to the Delta tables of one root by delta-rs, without Spark: what `jobs.tables` does with frames.

For steps over few rows, where starting a query takes longer than the work. Every write is checked against its schema
file first. A commit that another writer overtook is tried again; it is of rows that nobody else writes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from jobs.errors import SchemaError
from jobs.table_path import table_path
from jobs.table_reader import literal
from schemas.table import Table

Row = Mapping[str, Any]

overtaken_try_again = retry(
    retry=retry_if_exception_type(CommitFailedError),
    stop=stop_after_attempt(20),
    wait=wait_random_exponential(max=5),
    reraise=True,
)


def check_rows(rows: Sequence[Row], table: Table) -> pa.Table:
    """Return the rows with exactly the table's columns, in the order of its files.

    Raises:
        SchemaError: lists every column that is unknown, is null where it must not be, or holds another type.
    """
    faults = [f"column {name} is unknown" for name in sorted({n for row in rows for n in row} - {*table.columns.names})]
    columns = {}
    for field in table.columns:
        values = [row.get(field.name) for row in rows]
        if not field.nullable and None in values:
            faults.append(f"column {field.name} is null in {values.count(None)} row(s), expected {field.type}")
        try:
            columns[field.name] = pa.array(values, field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            faults.append(f"column {field.name} is no {field.type}: {type(error).__name__}")
    if faults:
        raise SchemaError(f"rows for {table.name}", faults)
    found = pa.table(columns, schema=table.columns)
    order = [(name, "ascending") for name in (*table.partition_by, *table.sorted_by)]
    return found.sort_by(order) if order else found


@overtaken_try_again
def append_rows(root: Path, table: Table, rows: Sequence[Row], *, transaction: str) -> None:
    """Append the rows unless some were appended under the same transaction id: the first ones stay."""
    delta = DeltaTable(table_path(root, table))
    if delta.transaction_version(transaction) is not None:
        return
    write_deltalake(
        delta,
        check_rows(rows, table),
        mode="append",
        commit_properties=CommitProperties(app_transactions=[Transaction(transaction, 1)]),
    )


@overtaken_try_again
def replace_rows(root: Path, table: Table, rows: Sequence[Row], **where: str | int) -> None:
    """Write the rows of one partition, in place of whatever an earlier attempt left there."""
    condition = " AND ".join(
        f"{column} = {value if isinstance(value, int) else literal(value)}" for column, value in where.items()
    )
    delta = DeltaTable(table_path(root, table))
    write_deltalake(delta, check_rows(rows, table), mode="overwrite", predicate=condition)
