"""What a table is: its columns with their types, its key, its partitions, whom it concerns and how long it is kept.

Columns are Arrow types, since Spark, Ray and delta-rs all read those; a column is defined here and nowhere else.
"""

from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

TEXT = pa.string()
BYTES = pa.binary()
COUNT = pa.int64()
INT = pa.int32()
REAL = pa.float64()
FLAG = pa.bool_()
TIME = pa.timestamp("us", tz="UTC")
TEXT_LIST = pa.list_(TEXT)

Personal = Literal["texts", "vectors", "ids", "hashes", "none"]
"""What a store holds of a person: what they wrote, vectors or hashes of it, or their id with what was found out."""


def required(name: str, type_: pa.DataType) -> pa.Field:
    """Return a column that is never null."""
    return pa.field(name, type_, nullable=False)


def optional(name: str, type_: pa.DataType) -> pa.Field:
    """Return a column that may be null."""
    return pa.field(name, type_, nullable=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """One Delta table.

    Attributes:
        name: folder under the table root.
        key: columns that name a row.
        columns: names, types and nullability.
        partition_by: partition columns.
        personal: what a row holds of a person.
        kept: how long a row is kept, in words.
        kept_days: `maintain_tables` removes a run's rows so many days after its last event; None: it removes none.
        sorted_by: the order of the rows in each file, so that whoever looks for one member or hash reads a page of it
            (docs/decisions/0014-table-layout.md).
        properties: Delta table properties beside the common ones of `jobs.tables`.
    """

    name: str
    key: tuple[str, ...]
    columns: pa.Schema
    personal: Personal
    kept: str
    kept_days: int | None = None
    partition_by: tuple[str, ...] = ()
    sorted_by: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
