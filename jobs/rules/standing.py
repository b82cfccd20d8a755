"""Which of two runs knows the newer state of a member; and which published coverage a member's labels stand on.

No clock decides where a table's version can: versions are given by the table, clocks of two machines may differ.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

PROFILE_UPDATES = "profile_updates"  # the kind of run of a micro-batch
ROLLBACK = "rollback"  # and of a rollback

Standing = Literal["superseded", "conflicting"]


@dataclass(frozen=True, kw_only=True)
class MemberPins:
    """What a run read of a member, and what it decided by: the columns of `coverage` that are compared.

    Attributes:
        profile_hash: None where the member is gone, or has a profile that can't be used.
        pinned_at: orders the artifacts of two runs, since an alias may move back to an older version.
    """

    run_id: str
    profile_hash: str | None
    profile_version: int | None
    profiles_delta_version: int
    catalog_version: str
    catalog_delta_version: int
    artifact_id: str
    scorer_id: str
    retriever_id: str
    candidates_per_member: int
    pinned_at: datetime


@dataclass(frozen=True, kw_only=True)
class Covered(MemberPins):
    """A row of `coverage` of a published run.

    Attributes:
        candidates, judged: how many were proposed, and how many of them have a score.
        retrieval_delta_version: of `catalog`, from which the candidates were retrieved; None where there are none.
        publication: the version of `labels` that the run committed or, where it changed nothing, found to be right.
        restored_run_id: of a row that a rollback wrote: the run that it takes the member back to; else None.
    """

    candidates: int
    judged: int
    retrieval_delta_version: int | None
    is_complete: bool
    incomplete_reason: str | None
    publication: int
    restored_run_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Published:
    """What published runs have done for a member.

    Attributes:
        stands: the complete coverage that the member's labels stand on; None before the first.
        is_open: a run left the member incomplete, and no complete coverage is at least as new in every part.
    """

    stands: Covered | None
    is_open: bool


def published(rows: Iterable[Covered]) -> Published:
    """Sum a member's published coverage up.

    The row of the last publication stands, not the one with the newest pins: of two publishers at once one may change
    nothing and so commit nothing, and the other, older one then commits without having seen it. Labels are always those
    of the last commit, so a plan that compares with it finds the member in scope again.
    """
    found = list(rows)
    stands = max((row for row in found if row.is_complete), key=_publication_order, default=None)
    left_out = [row for row in found if not row.is_complete and row.incomplete_reason != "superseded"]
    return Published(stands=stands, is_open=any(stands is None or _is_newer_in_part(row, stands) for row in left_out))


def _publication_order(row: Covered) -> tuple[int, int, int, datetime, str]:
    return row.publication, row.profiles_delta_version, row.catalog_delta_version, row.pinned_at, row.run_id


def _is_newer_in_part(row: MemberPins, stands: MemberPins) -> bool:
    return (
        row.profiles_delta_version > stands.profiles_delta_version
        or row.catalog_delta_version > stands.catalog_delta_version
        or row.pinned_at > stands.pinned_at
    )


def versions_covered(mine: MemberPins, theirs: MemberPins | None) -> tuple[int, int]:
    """Return the versions of profiles and catalog that a published row of coverage names.

    Where the earlier row was made from the same profile, or the same catalog, as of a newer version, the labels are
    those of that version, too. Naming the older one would let a run win that knows something from in between.
    """
    profiles, catalog = mine.profiles_delta_version, mine.catalog_delta_version
    if theirs is not None and theirs.profile_hash == mine.profile_hash:
        profiles = max(profiles, theirs.profiles_delta_version)
    if theirs is not None and theirs.catalog_version == mine.catalog_version:
        catalog = max(catalog, theirs.catalog_delta_version)
    return profiles, catalog


def needs_commit(kind: str, *, n_changes: int, n_others_open: int) -> bool:
    """Whether a run makes a commit on the labels.

    A run that changes nothing makes none, and an older one that had computed before may then still commit: the next run
    finds that. Nobody plans the next run for a profile update, and a rollback's hold must be seen by a run that had
    looked for holds before, so these two commit while any other run is open, and the other one computes again.
    """
    return n_changes > 0 or (kind in (PROFILE_UPDATES, ROLLBACK) and n_others_open > 0)


def standing(mine: MemberPins, theirs: MemberPins | None) -> Standing | None:
    """Compare a run's pins of a member with the published ones.

    Returns:
        None when mine may be published; "superseded" when theirs are newer in some part and older in none;
        "conflicting" when each is newer in some part: the member is left out and planned again.
    """
    if theirs is None:
        return None
    order = (_profile_order(mine, theirs), _catalog_order(mine, theirs), _decision_order(mine, theirs))
    if max(order) <= 0:
        return None
    return "conflicting" if min(order) < 0 else "superseded"


def _profile_order(mine: MemberPins, theirs: MemberPins) -> int:
    """1 where theirs is newer. The source's own version decides only between equal versions of the table."""
    if mine.profile_hash == theirs.profile_hash:
        return 0
    by_table = _sign(theirs.profiles_delta_version, mine.profiles_delta_version)
    if by_table or mine.profile_version is None or theirs.profile_version is None:
        return by_table
    return _sign(theirs.profile_version, mine.profile_version)


def _catalog_order(mine: MemberPins, theirs: MemberPins) -> int:
    if mine.catalog_version == theirs.catalog_version:
        return 0
    return _sign(theirs.catalog_delta_version, mine.catalog_delta_version)


def _decision_order(mine: MemberPins, theirs: MemberPins) -> int:
    if _decided_by(mine) == _decided_by(theirs):
        return 0
    return _sign(theirs.pinned_at, mine.pinned_at)


def _decided_by(pins: MemberPins) -> tuple[str, str, int]:
    return pins.artifact_id, pins.retriever_id, pins.candidates_per_member


def _sign(theirs: int | datetime, mine: int | datetime) -> int:
    return int(theirs > mine) - int(theirs < mine)  # type: ignore[operator]
