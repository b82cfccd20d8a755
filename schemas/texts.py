"""A rendered query or item text by its hash; audit and replay read it, never time travel. Append-only.

Grows with changed profiles and changed catalog texts.
"""

import pyarrow as pa

from schemas.table import TEXT, Table, required

TEXTS = Table(
    name="texts",
    key=("text_hash",),
    personal="texts",
    kept="for good: what a judgment was made of",
    columns=pa.schema([required("text_hash", TEXT), required("kind", TEXT), required("text", TEXT)]),
    sorted_by=("text_hash",),
    properties={"delta.dataSkippingStatsColumns": "text_hash,kind"},  # else the log keeps the beginnings of texts
)
