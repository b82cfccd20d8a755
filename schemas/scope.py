"""A member that a run looks at, and why; written once, when the run is planned. Who is not here is left untouched."""

import pyarrow as pa

from schemas.table import COUNT, INT, TEXT, Table, optional, required

SCOPE = Table(
    name="scope",
    key=("run_id", "member_id"),
    personal="ids",
    kept="90 days after the run; after that coverage still says what the run did for the member",
    kept_days=90,
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("member_id", TEXT),
            required("reason", TEXT),  # jobs.rules.scope.Reason
            optional("profile_version", COUNT),  # null: the member is gone from `profiles`
            optional("profile_hash", TEXT),  # null: gone, or its profile can't be used
            required("pairs_at_most", INT),  # pairs that may have no judgment yet
        ]
    ),
    partition_by=("run_id",),
    sorted_by=("member_id",),
)
