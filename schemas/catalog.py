"""One qualification of the supplied catalog. Written upstream (by `semlabel sample` or `semlabel load`).

Retention: the current row a qualification; the text that a label was judged by stays in `texts`.
"""

import pyarrow as pa

from schemas.table import TEXT, Table, optional

CATEGORIES = ("skill", "experience", "education", "licence")
STATUSES = ("active", "retired")

CATALOG = Table(
    name="catalog",
    key=("qualification_id",),
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
