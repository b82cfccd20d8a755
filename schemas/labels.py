"""A published label: an accepted (member, qualification) with its lineage. An unchanged row is not rewritten.

Written in one Delta commit a run (`publish_labels`); the history is `label_changes`.
"""

import pyarrow as pa

from schemas.table import COUNT, INT, REAL, TEXT, Table, required

LABEL_COLUMNS = pa.schema(
    [
        required("member_id", TEXT),
        required("qualification_id", TEXT),
        required("score", REAL),
        required("threshold", REAL),
        required("artifact_id", TEXT),
        required("scorer_id", TEXT),
        required("query_hash", TEXT),
        required("item_hash", TEXT),
        required("profile_version", COUNT),
        required("catalog_version", TEXT),
        required("rank", INT),
        required("round", INT),
        required("judged_run_id", TEXT),
        required("published_run_id", TEXT),
        required("since_run_id", TEXT),
    ]
)

LABELS = Table(
    name="labels",
    key=("member_id", "qualification_id"),
    personal="ids",
    kept="the current row of a label",
    columns=LABEL_COLUMNS,
    sorted_by=("member_id",),
    properties={"delta.isolationLevel": "Serializable"},
)
