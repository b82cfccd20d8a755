"""A candidate that retrieval proposed for a member in a run, by rank."""

import pyarrow as pa

from schemas.table import COUNT, INT, REAL, TEXT, Table, required

CANDIDATES = Table(
    name="candidates",
    key=("run_id", "member_id", "rank"),
    personal="ids",
    kept="90 days after the run; after that the audit knows no rank of a rejected pair",
    kept_days=90,
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("member_id", TEXT),
            required("rank", INT),  # 0-based, best first
            required("qualification_id", TEXT),
            required("similarity", REAL),  # cosine of the best section, rounded to 1e-5
            required("profile_version", COUNT),
            required("profile_hash", TEXT),
            required("catalog_version", TEXT),
            required("retriever_id", TEXT),
        ]
    ),
    partition_by=("run_id",),
    sorted_by=("member_id",),
)
