"""What a round decided for a member: counts, whether the member goes on, and why not."""

import pyarrow as pa

from schemas.table import COUNT, FLAG, INT, TEXT, Table, optional, required

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
            # goes_on, accepted_too_little, candidates_exhausted, incomplete; past_stop: it decides nothing
            required("reason", TEXT),
            # null in rows of runs that drew no sample yet
            optional("is_past_stop", FLAG),  # a further round of a sampled member who had stopped before it
            optional("goes_past_stop", FLAG),  # the member is sampled and has a further round, although it stopped
            optional("scored", INT),  # pairs that no run had judged before
            optional("scored_accepted", INT),  # of these; null in rows of runs that did not count them yet
            optional("tokens", COUNT),  # of the packed requests for them
            optional("tie_tokens", COUNT),  # of the reference's, for pairs in the tie band
        ]
    ),
    partition_by=("run_id", "round"),
    sorted_by=("member_id",),
)
