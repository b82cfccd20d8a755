"""A member's current profile text. Written upstream (by `semlabel sample` or `semlabel load`).

Retention: the current row a member; the text that a label was judged by stays in `texts`.
"""

import pyarrow as pa

from schemas.table import COUNT, TEXT, TIME, Table, optional

PROFILES = Table(
    name="profiles",
    key=("member_id",),
    columns=pa.schema(
        [
            optional("member_id", TEXT),  # nullable like all of the row: a faulty row is quarantined, not refused
            optional("profile_text", TEXT),
            optional("profile_version", COUNT),  # given by the source, growing per member
            optional("updated_at", TIME),
            optional("profile_hash", TEXT),
        ]
    ),
)
