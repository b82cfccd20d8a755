"""Which members a run looks at, and why: a comparison of each member with its published coverage, never a watermark.

So a trigger is a hint. One that is lost, doubled, late or reordered leaves the comparison as it is, and the next run
finds what is still to be done.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Literal

from jobs.rules.hold import Hold, is_on_hold
from jobs.rules.standing import PROFILE_UPDATES, Covered, MemberPins, Published

Reason = Literal[
    "member_removed",
    "revoked",
    "incomplete",
    "first_time",
    "rolled_back",
    "profile_changed",
    "catalog_changed",
    "scorer",
    "threshold",
    "retrieval_changed",
    "unchanged",
]

_OF_A_PROFILE: frozenset[Reason] = frozenset(
    {"member_removed", "revoked", "incomplete", "first_time", "rolled_back", "profile_changed"}
)
_OF_A_CATALOG: frozenset[Reason] = _OF_A_PROFILE | {"catalog_changed"}
_ALL: frozenset[Reason] = _OF_A_CATALOG | {"scorer", "threshold", "retrieval_changed", "unchanged"}

LOOKS_AFTER: Mapping[str, frozenset[Reason]] = {
    "daily_incremental": _OF_A_PROFILE,
    "catalog_backfill": _OF_A_CATALOG,
    "weekly_full": _ALL,
    PROFILE_UPDATES: _ALL,
}
"""The reasons that bring a member into scope, by the kind of run.

`profile_updates` is asked about the members of its batch alone, and takes all of them: one whose profile is what labels
stand on already, or who is gone before any label, too. So a run that pinned before and publishes later finds a newer
state published, and does not win.
"""


def scope_reasons(
    kind: str,
    now: MemberPins | None,
    before: Published,
    *,
    is_revoked: bool = False,
    holds: Iterable[Hold] = (),
) -> tuple[Reason, ...]:
    """Return why a run of this kind looks at a member, all that holds, the reason that counts first; () if it doesn't.

    Args:
        now: the run's pins with the member's profile; None where `profiles` does not have the member.
        is_revoked: a judgment that the member's labels were made with was revoked since (`rules.revocation`).
        holds: those that stand.
    """
    if is_on_hold(now, before.stands, holds):
        return ()
    reasons = _gone(kind, before) if now is None else _revoked(is_revoked) + tuple(_differences(now, before))
    if now is not None and not reasons:
        reasons = ("unchanged",)
    return reasons if reasons and reasons[0] in LOOKS_AFTER[kind] else ()


def _gone(kind: str, before: Published) -> tuple[Reason, ...]:
    """Only who is covered has labels; the coverage of a removal has no profile."""
    is_left = (before.stands is not None and before.stands.profile_hash is not None) or kind == PROFILE_UPDATES
    return ("member_removed",) if is_left else ()


def _revoked(is_revoked: bool) -> tuple[Reason, ...]:
    return ("revoked",) if is_revoked else ()


def _differences(now: MemberPins, before: Published) -> Iterator[Reason]:
    then = before.stands
    if before.is_open:
        yield "incomplete"
    if then is None:
        yield "first_time"
        return
    if then.restored_run_id is not None:
        yield "rolled_back"
    if now.profile_hash != then.profile_hash:
        yield "profile_changed"
    if now.catalog_version != then.catalog_version:
        yield "catalog_changed"
    if now.scorer_id != then.scorer_id:
        yield "scorer"
    elif now.artifact_id != then.artifact_id:
        yield "threshold"
    if _retrieves_otherwise(now, then):
        yield "retrieval_changed"


def _retrieves_otherwise(now: MemberPins, then: MemberPins) -> bool:
    return (now.retriever_id, now.candidates_per_member) != (then.retriever_id, then.candidates_per_member)


def keeps_candidates(kind: str, reasons: tuple[Reason, ...], then: Covered | None, retired_since: Set[int]) -> bool:
    """Whether a member needs no retrieval: entries of the catalog have only gone since, and each keeps its slot.

    An empty slot is not scored and not counted. It closes when the member is next retrieved: by a run that looks at the
    member for more than the catalog, by a catalog with another entry or text, by every weekly run and every update.

    Args:
        reasons: of `scope_reasons`.
        retired_since: the versions of `catalog` since which entries were only retired or removed.
    """
    is_about_entries = kind not in ("weekly_full", PROFILE_UPDATES) and set(reasons) <= {"catalog_changed", "threshold"}
    return is_about_entries and then is not None and then.retrieval_delta_version in retired_since
