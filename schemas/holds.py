"""A hold on inputs, placed by a rollback or released by a person: append-only, two rows at most a hold.

Until it is released, no plan and no publication uses the input. Not to be confused with a run that is *held*: that is
one publication past a limit, and an event in `runs`.
"""

import pyarrow as pa

from schemas.table import TEXT, TIME, Table, required

HOLDS = Table(
    name="holds",
    key=("hold_id", "event"),
    personal="none",  # members are named by the rollback whose coverage they stand on
    kept="for good: they say why a run left members alone",
    columns=pa.schema(
        [
            required("hold_id", TEXT),
            required("event", TEXT),  # placed, released
            required("input", TEXT),  # artifact, catalog, members
            required("value", TEXT),  # artifact_id; catalog_version; run_id of the rollback
            required("run_id", TEXT),  # the rollback
            required("reason", TEXT),
            required("who", TEXT),
            required("at", TIME),
        ]
    ),
)
