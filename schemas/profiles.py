"""A member's current profile text. Written upstream (by `semlabel sample` or `semlabel load`)."""

import pyarrow as pa

from schemas.table import COUNT, TEXT, TIME, Table, optional

PROFILES = Table(
    name="profiles",
    key=("member_id",),
    personal="texts",
    kept="the current row of a member",
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
