"""A label added, removed or revised by a run, with the row before and after and the reason.

Readers see published runs only.
"""

import pyarrow as pa

from schemas.labels import LABEL_COLUMNS
from schemas.table import TEXT, Table, optional, required

LABEL_ROW = pa.struct([field.with_nullable(True) for field in LABEL_COLUMNS])

LABEL_CHANGES = Table(
    name="label_changes",
    key=("run_id", "member_id", "qualification_id"),
    personal="ids",
    kept="for good: the history of every label",
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("member_id", TEXT),
            required("qualification_id", TEXT),
            required("change", TEXT),  # added, removed, revised
            required("reason", TEXT),
            optional("before", LABEL_ROW),
            optional("after", LABEL_ROW),
        ]
    ),
    partition_by=("run_id",),
    sorted_by=("member_id",),
)
