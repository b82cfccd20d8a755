"""A member of the sample that goes on past its stop: what all its candidates came to, those after the stop too.

Estimates of what early stopping costs rest on it (`jobs.stop_price`, `semlabel stop-rule`); no label does.
"""

import pyarrow as pa

from schemas.table import COUNT, FLAG, INT, TEXT, Table, required

STOP_SAMPLE = Table(
    name="stop_sample",
    key=("run_id", "member_id"),
    personal="ids",
    kept="a year after the run; after that the run's report still has its estimate",
    kept_days=365,
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("member_id", TEXT),
            required("stop_reason", TEXT),  # as in `coverage`: of the run as it counts
            required("rounds", INT),  # before the stop
            required("candidates", INT),
            required("is_judged_to_end", FLAG),  # every candidate has its judgment
            required("scored_past_stop", INT),  # pairs that no run had judged before
            required("tokens_past_stop", COUNT),  # prefilled for them, tie checks among it
            required("unjudged_ranks", pa.list_(INT)),  # where it is judged to the end: nothing was to be judged there
            required("accepted_ranks", pa.list_(INT)),
            required("accepted_categories", pa.list_(TEXT)),  # aligned with accepted_ranks
        ]
    ),
    partition_by=("run_id",),
    sorted_by=("member_id",),
)
