"""One scored (query, item) pair, as a fact: never changed, only added, or withdrawn by a row of `revocations`.

A null score is never stored. Readers take one row a key: revoked ones left out, the newest generation, then the first
committed (`jobs.judgments`).
"""

import pyarrow as pa

from schemas.table import FLAG, INT, REAL, TEXT, TIME, Table, required

JUDGMENTS = Table(
    name="judgments",
    key=("scorer_id", "query_hash", "item_hash", "generation"),
    personal="hashes",
    kept="for good: they make a refresh cheap, and replay it",
    columns=pa.schema(
        [
            required("scorer_id", TEXT),
            required("query_hash", TEXT),
            required("item_hash", TEXT),
            required("generation", INT),  # 0, or what `--recompute` opened
            required("margin", REAL),  # z(YES) - z(NO), computed in float32
            required("score", REAL),  # sigmoid(margin), in [0, 1]
            required("is_reference", FLAG),  # scored on its own by the reference (tie rule)
            required("engine", TEXT),  # engine fingerprint, JSON
            required("run_id", TEXT),
            required("judged_at", TIME),
        ]
    ),
    partition_by=("scorer_id",),
    sorted_by=("query_hash", "item_hash"),
)
