"""What a run did for a member: its pins, how far it judged, why it stopped, and whether that is complete.

Readers see published runs only (`jobs.coverage`).
"""

import pyarrow as pa

from schemas.table import COUNT, FLAG, INT, TEXT, TIME, Table, optional, required

COVERAGE = Table(
    name="coverage",
    key=("run_id", "member_id"),
    personal="ids",
    kept="a year after the run; a run's rows stay while some member's labels stand on one of them",
    kept_days=365,
    columns=pa.schema(
        [
            required("run_id", TEXT),
            required("member_id", TEXT),
            optional("profile_version", COUNT),  # null: the member is gone from `profiles`
            optional("profile_hash", TEXT),
            optional(
                "query_hash", TEXT
            ),  # of the rendered query; with the scorer it names the judgments that were used
            required("profiles_delta_version", COUNT),
            required("catalog_version", TEXT),
            required("catalog_delta_version", COUNT),
            # of `catalog`, from which the candidates were retrieved; older than the pinned one where entries have only
            # been retired since, and each keeps its slot. Null: there are no candidates
            optional("retrieval_delta_version", COUNT),
            required("artifact_id", TEXT),
            required("scorer_id", TEXT),
            required("retriever_id", TEXT),
            required("candidates_per_member", INT),
            required("pinned_at", TIME),
            required("candidates", INT),
            required("rounds", INT),
            required("judged", INT),
            required("accepted", INT),
            required(
                "depth", INT
            ),  # ranks of the rounds that were walked: below it a pair has a judgment or an empty slot
            optional("stop_reason", TEXT),
            required("is_complete", FLAG),
            optional("incomplete_reason", TEXT),  # quarantined, incomplete, superseded, conflicting, on_hold
            # a rollback's row: the run whose row it restates, or the rollback itself where nothing stood before
            optional("restored_run_id", TEXT),
        ]
    ),
    partition_by=("run_id",),
    sorted_by=("member_id",),
)
