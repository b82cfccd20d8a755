"""The known answer of a (member, qualification) pair, for a sample or for own evaluation pairs.

Pairs that are neither listed as supported nor as unknown are unsupported, for members that have at least one row here.
"""

import pyarrow as pa

from schemas.table import TEXT, Table, required

SUPPORTED = "supported"
UNKNOWN = "unknown"  # left out of every metric, and counted

REFERENCE = Table(
    name="reference",
    key=("member_id", "qualification_id"),
    personal="ids",
    kept="until the sample is written anew or own data is loaded",
    columns=pa.schema([required("member_id", TEXT), required("qualification_id", TEXT), required("answer", TEXT)]),
)
