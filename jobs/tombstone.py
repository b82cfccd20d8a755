"""Read and write the tombstones of erased members, by the hash of the member's id."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from jobs.table_admin import create_missing
from jobs.table_path import table_path
from jobs.table_reader import Reader, equals
from mis_scoring.core.identity import text_hash
from schemas.erasures import DECISION, ERASURES

STARTED = "started"
FINISHED = "finished"


@dataclass(frozen=True, kw_only=True)
class Tombstone:
    """What is left of an erased member.

    Attributes:
        started_at: of the first attempt. finished_at: None while something of the member may be left.
        labels: the published ones when they were erased.
    """

    started_at: datetime
    finished_at: datetime | None
    profile_hashes: frozenset[str]
    query_hashes: frozenset[str]
    labels: tuple[Mapping[str, Any], ...]

    def as_dict(self, qualification_id: str | None = None) -> dict[str, Any]:
        """Return started_at, finished_at, n_labels; and the decision on one pair, None where it had no label."""
        decided = [dict(label) for label in self.labels if label["qualification_id"] == qualification_id]
        return {
            "started_at": self.started_at.isoformat(),
            "finished_at": self.finished_at and self.finished_at.isoformat(),
            "n_labels": len(self.labels),
            "label": next(iter(decided), None),
        }


def tombstone_of(reader: Reader, member_id: str) -> Tombstone | None:
    """Return the tombstone of a member, or None."""
    where = equals(member_hash=text_hash(member_id))
    rows = reader.rows(f"SELECT * FROM erasures WHERE {where} ORDER BY at", ERASURES)
    if not rows:
        return None
    finished = [row["at"] for row in rows if row["event"] == FINISHED]
    is_finished = rows[-1]["event"] == FINISHED
    labels = {label["qualification_id"]: label for row in rows for label in row["labels"]}
    return Tombstone(
        started_at=rows[0]["at"],
        finished_at=max(finished) if is_finished else None,
        profile_hashes=frozenset(one for row in rows for one in row["profile_hashes"]),
        query_hashes=frozenset(one for row in rows for one in row["query_hashes"]),
        labels=tuple(labels.values()),
    )


def reason_of(tombstone: Tombstone) -> str:
    """Say when the member was erased, and whether all of it is gone."""
    if tombstone.finished_at is None:
        return f"erasure begun at {tombstone.started_at:%Y-%m-%d %H:%M} UTC and not ended: `semlabel forget` it again"
    return f"the member was erased at {tombstone.finished_at:%Y-%m-%d %H:%M} UTC"


def write_tombstone(
    root: Path,
    member_id: str,
    event: str,
    *,
    profile_hashes: Collection[str] = (),
    query_hashes: Collection[str] = (),
    labels: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Append one event of an erasure."""
    create_missing(root, ERASURES)
    names = [field.name for field in DECISION]
    row = {
        "member_hash": text_hash(member_id),
        "event": event,
        "at": datetime.now(UTC),
        "profile_hashes": sorted(profile_hashes),
        "query_hashes": sorted(query_hashes),
        "labels": [{name: label[name] for name in names} for label in labels],
    }
    content = pa.Table.from_pylist([row], schema=ERASURES.columns)
    write_deltalake(DeltaTable(table_path(root, ERASURES)), content, mode="append")
