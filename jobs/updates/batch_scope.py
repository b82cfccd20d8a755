"""Say which members of a batch a run looks at and why: `scope_members` for a handful of members, without Spark.

The rules are those of every run (`jobs.rules.scope`). The scope is the batch's members at most: who has changed
besides is the next refresh's to find.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jobs.input_hold import standing_holds
from jobs.pins import Pins
from jobs.rules.scope import scope_reasons
from jobs.rules.standing import MemberPins, Published
from jobs.table_reader import equals, query
from jobs.table_writer import append_rows
from jobs.updates.batch_inputs import (
    ProfileRow,
    erased_members,
    published_coverage,
    read_profiles,
    revoked_members,
)
from schemas.scope import SCOPE


def write_scope(root: Path, pins: Pins, member_ids: Collection[str]) -> list[dict[str, Any]]:
    """Write `scope` of the run unless it is written, and return the rows that stand."""
    wanted = set(member_ids)
    profiles = read_profiles(root, pins, wanted - erased_members(root, wanted))
    before, holds = published_coverage(root, wanted), standing_holds(root)
    revoked = revoked_members(root, pins, before)
    rows = []
    for member_id in sorted(wanted):
        profile, known = profiles.get(member_id), before.get(member_id, Published(stands=None, is_open=False))
        now = None if profile is None else member_pins(pins, profile)
        is_revoked = member_id in revoked
        if reasons := scope_reasons(pins.kind, now, known, is_revoked=is_revoked, holds=holds):
            rows.append(_row(pins, member_id, profile, reasons, known))
    append_rows(root, SCOPE, rows, transaction=f"{pins.run_id}:scope")
    return query(root, f"SELECT * FROM scope WHERE {equals(run_id=pins.run_id)} ORDER BY member_id", SCOPE)


def member_pins(pins: Pins, profile: ProfileRow) -> MemberPins:
    """Return what a run decides by for a member."""
    return MemberPins(
        run_id=pins.run_id,
        profile_hash=profile.hash,
        profile_version=profile.version,
        profiles_delta_version=pins.profiles_delta_version,
        catalog_version=pins.catalog_version,
        catalog_delta_version=pins.catalog_delta_version,
        artifact_id=pins.artifact_id,
        scorer_id=pins.scorer_id,
        retriever_id=pins.retriever_id,
        candidates_per_member=pins.candidates_per_member,
        pinned_at=datetime.fromisoformat(pins.pinned_at),
    )


def _row(
    pins: Pins, member_id: str, profile: ProfileRow | None, reasons: tuple[str, ...], before: Published
) -> dict[str, Any]:
    profile_hash = None if profile is None else profile.hash
    return {
        "run_id": pins.run_id,
        "member_id": member_id,
        "reason": reasons[0],
        "reasons": list(reasons),
        "profile_version": None if profile is None else profile.version,
        "profile_hash": profile_hash,
        "stands_run_id": None if before.stands is None else before.stands.run_id,
        "keeps_candidates": False,  # of a member who is looked at for more than the catalog
        "retrieval_delta_version": None if profile_hash is None else pins.catalog_delta_version,
    }


def counts_of(scope: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what `scope_members` says of a scope: members, reasons, members_removed."""
    reasons = dict(Counter(row["reason"] for row in scope))
    removed = reasons.pop("member_removed", 0)
    return {"members": sum(reasons.values()), "reasons": reasons, "members_removed": removed}
