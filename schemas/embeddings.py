"""The vector of one text (a profile section, a qualification) by one retriever. Append-only.

Grows with distinct section texts, 1.5 KB each.
"""

import pyarrow as pa

from schemas.table import BYTES, TEXT, Table, required

EMBEDDINGS = Table(
    name="embeddings",
    key=("retriever_id", "text_hash"),
    personal="vectors",
    kept="for good: a text is embedded once",
    columns=pa.schema(
        [
            required("retriever_id", TEXT),
            required("text_hash", TEXT),
            required("vector", BYTES),  # float32, little-endian; empty: the text embeds to nothing
        ]
    ),
    partition_by=("retriever_id",),
    sorted_by=("text_hash",),
)
