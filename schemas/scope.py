"""A member that a run looks at, and why; written once, when the run is scoped. Who is not here is left untouched."""

import pyarrow as pa

from schemas.table import COUNT, FLAG, TEXT, TEXT_LIST, Table, optional, required

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
            required("reason", TEXT),  # jobs.rules.scope.Reason, the first that holds
            required("reasons", TEXT_LIST),  # all that hold
            optional("profile_version", COUNT),  # null: the member is gone from `profiles`
            optional("profile_hash", TEXT),  # null: gone, or its profile can't be used
            optional("stands_run_id", TEXT),  # whose coverage the member's labels stand on; null before the first
            required("keeps_candidates", FLAG),  # those of stands_run_id; else the member is retrieved
            optional("retrieval_delta_version", COUNT),  # of `catalog`, from which its candidates are or were retrieved
        ]
    ),
    partition_by=("run_id",),
    sorted_by=("member_id",),
)
