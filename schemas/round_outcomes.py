"""What a round decided for a member: counts, whether the member goes on, and why not."""

import pyarrow as pa

from schemas.table import FLAG, INT, TEXT, Table, required

ROUND_OUTCOMES = Table(
    name="round_outcomes",
    key=("run_id", "member_id", "round"),
    personal="ids",
    kept="90 days after the run; after that coverage still says where and why a member stopped",
    kept_days=90,
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("round", INT),
            required("member_id", TEXT),
            required("judged", INT),  # new and reused together
            required("accepted", INT),
            required("missing", INT),
            required("goes_on", FLAG),
            required("reason", TEXT),  # goes_on, accepted_too_little, candidates_exhausted, incomplete
        ]
    ),
    partition_by=("run_id", "round"),
)
