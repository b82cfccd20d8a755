"""One qualification of the supplied catalog. Written upstream (by `semlabel sample` or `semlabel load`)."""

import pyarrow as pa

from schemas.table import TEXT, Table, optional

CATEGORIES = ("skill", "experience", "education", "licence")
STATUSES = ("active", "retired")

CATALOG = Table(
    name="catalog",
    key=("qualification_id",),
    personal="none",
    kept="the current row of an entry",
    columns=pa.schema(
        [
            optional(
                "qualification_id", TEXT
            ),  # nullable like all of the row: a faulty row is quarantined, not refused
            optional("category", TEXT),
            optional("text", TEXT),
            optional("status", TEXT),
        ]
    ),
)
