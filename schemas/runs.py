"""The ledger of runs, append-only: opened with which pins, planned, held, approved, published, with counts and seconds.

`payload` is one JSON document an event; it never holds a member's text.
"""

import pyarrow as pa

from schemas.table import INT, TEXT, TIME, Table, required

RUNS = Table(
    name="runs",
    key=("run_id", "event", "attempt"),
    personal="none",
    kept="for good: the ledger",
    columns=pa.schema(
        [
            required("run_id", TEXT),
            # pinned, held, approved, published, planned, failed, canary_failed; a job's result: its name or
            # round_<n>_<name>
            required("event", TEXT),
            required("attempt", INT),
            required("at", TIME),
            required("payload", TEXT),
        ]
    ),
)
