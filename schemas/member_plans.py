"""What a run is to take for a member in scope, and why it looks at the member; written before anything is scored.

Of each figure at least, as expected, at most; at least and at most hold if every pair is scored (docs/plan.md).
"""

import pyarrow as pa

from schemas.table import COUNT, INT, REAL, TEXT, TEXT_LIST, Table, optional, required

PAST_STOP = ("past_stop_pairs", "past_stop_tokens")
"""What the sample that prices early stopping takes past a member's stop; in none of the other figures."""
FIGURES = ("rounds", "pairs_to_score", "pairs_reused", "tokens", "label_changes", *PAST_STOP)

MEMBER_PLANS = Table(
    name="member_plans",
    key=("run_id", "member_id"),
    personal="ids",
    kept="90 days after the run; the ledger keeps the sums",
    kept_days=90,
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("member_id", TEXT),
            required("reasons", TEXT_LIST),  # jobs.rules.reasons.PlanReason, all that hold
            required("came_in", INT),  # candidates that the run's list has and that of the standing coverage has not;
            required("dropped_out", INT),  # the other way round: 0 where not only the catalog differs
            *(
                # null of the sample in rows of plans that did not know it yet
                (optional if figure in PAST_STOP else required)(
                    f"{figure}_{bound}", REAL if bound == "expected" else COUNT
                )
                for figure in FIGURES
                for bound in ("min", "expected", "max")
            ),
        ]
    ),
    partition_by=("run_id",),
)
