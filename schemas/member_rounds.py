"""One member and round: the query, the items still to be scored, and the pairs whose judgment is reused.

Item lists are aligned with each other and in rank order.
"""

import pyarrow as pa

from schemas.table import FLAG, INT, TEXT, TEXT_LIST, Table, optional, required

MEMBER_ROUNDS = Table(
    name="member_rounds",
    key=("run_id", "member_id", "round"),
    personal="texts",
    kept="30 days after the run; only the run itself reads it",
    kept_days=30,
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("round", INT),
            required("member_id", TEXT),
            required("query_hash", TEXT),
            required("query_text", TEXT),
            required("item_ids", TEXT_LIST),
            required("item_hashes", TEXT_LIST),
            required("item_texts", TEXT_LIST),
            required("reused_ids", TEXT_LIST),
            required("reused_hashes", TEXT_LIST),
            optional("is_past_stop", FLAG),  # the member had stopped; the round prices that, and decides nothing
        ]
    ),
    partition_by=("run_id", "round"),
    sorted_by=("member_id",),
    properties={"delta.dataSkippingStatsColumns": "member_id,query_hash"},  # else the log keeps beginnings of texts
)
