"""An input that could not be used: where, why, and the value's digest (never the value).

A quarantined member keeps its published labels and stays in scope.
"""

import pyarrow as pa

from schemas.table import TEXT, TIME, Table, optional, required

QUARANTINE = Table(
    name="quarantine",
    key=("run_id", "table", "key"),
    personal="ids",
    kept="90 days after the run",
    kept_days=90,
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("step", TEXT),
            required("table", TEXT),
            required("key", TEXT),
            required("reason", TEXT),
            optional("value_hash", TEXT),
            required("at", TIME),
        ]
    ),
    partition_by=("run_id", "step"),
)
