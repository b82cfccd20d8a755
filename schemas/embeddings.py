"""The vector of one text (a profile section, a qualification) by one retriever. Append-only.

Retention: kept; a text is embedded once. Grows with distinct section texts, 1.5 KB each.
"""

import pyarrow as pa

from schemas.table import TEXT, Table, required

EMBEDDINGS = Table(
    name="embeddings",
    key=("retriever_id", "text_hash"),
    columns=pa.schema(
        [required("retriever_id", TEXT), required("text_hash", TEXT), required("vector", pa.list_(pa.float32()))]
    ),
    partition_by=("retriever_id",),
)
