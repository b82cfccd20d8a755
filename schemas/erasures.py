"""A member whose data was erased: a tombstone of hashes and decisions, by the hash of the member's id.

Two rows an erasure: `started` names what is to go and is written first, so that no run takes the member up again;
`finished` says that all of it is gone from the disk.
"""

import pyarrow as pa

from schemas.table import REAL, TEXT, TIME, Table, optional, required

TEXT_LIST = pa.list_(TEXT)
DECISION = pa.struct(
    [
        optional("qualification_id", TEXT),
        optional("score", REAL),
        optional("threshold", REAL),
        optional("artifact_id", TEXT),
        optional("query_hash", TEXT),
        optional("item_hash", TEXT),
        optional("judged_run_id", TEXT),
        optional("published_run_id", TEXT),
    ]
)

ERASURES = Table(
    name="erasures",
    key=("member_hash", "event", "at"),
    personal="hashes",
    kept="for good: who has a row here is not labelled again",
    columns=pa.schema(
        [
            required("member_hash", TEXT),  # SHA-256 of the member_id: a pseudonym, found again by whoever has the id
            required("event", TEXT),  # started, finished
            required("at", TIME),
            required("profile_hashes", TEXT_LIST),
            required("query_hashes", TEXT_LIST),  # what was judged of them stands in `judgments`
            required("labels", pa.list_(DECISION)),  # as they stood when they were erased
        ]
    ),
)
