"""Judgments that must not be used any more, as a fact: appended by `semlabel revoke`, never changed or taken back.

A row withdraws the judgments that fit all of fingerprint, run and time that it gives, as far as they were made before
`until`: what the same engine judges later is used.
"""

import pyarrow as pa

from schemas.table import TEXT, TIME, Table, optional, required

REVOCATIONS = Table(
    name="revocations",
    key=("revocation_id",),
    personal="none",
    kept="for good: they say which judgments hold",
    columns=pa.schema(
        [
            required("revocation_id", TEXT),
            optional("fingerprint", TEXT),  # null: of any engine
            optional("run_id", TEXT),  # null: of any run
            optional("since", TIME),  # null: from the first on
            required("until", TIME),  # at most `at`
            required("reason", TEXT),
            required("who", TEXT),
            required("at", TIME),
        ]
    ),
)
