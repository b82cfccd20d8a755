"""Which members a run looks at, and why: a comparison of each member with its published coverage, never a watermark.

So a trigger is a hint. One that is lost, doubled, late or reordered leaves the comparison as it is, and the next run
finds what is still to be done.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from jobs.rules.hold import Hold, is_on_hold
from jobs.rules.standing import Covered, MemberPins, Published

Reason = Literal[
    "member_removed",
    "revoked",
    "incomplete",
    "first_time",
    "rolled_back",
    "profile_changed",
    "catalog_changed",
    "artifact_changed",
    "retrieval_changed",
    "unchanged",
]

_OF_A_PROFILE: frozenset[Reason] = frozenset(
    {"member_removed", "revoked", "incomplete", "first_time", "rolled_back", "profile_changed"}
)
_OF_A_CATALOG: frozenset[Reason] = _OF_A_PROFILE | {"catalog_changed"}
_ALL: frozenset[Reason] = _OF_A_CATALOG | {"artifact_changed", "retrieval_changed", "unchanged"}

LOOKS_AFTER: Mapping[str, frozenset[Reason]] = {
    "daily_incremental": _OF_A_PROFILE,
    "catalog_backfill": _OF_A_CATALOG,
    "weekly_full": _ALL,
}
"""The reasons that bring a member into scope, by the kind of run."""


def scope_reason(
    kind: str,
    now: MemberPins | None,
    before: Published,
    *,
    is_revoked: bool = False,
    holds: Iterable[Hold] = (),
) -> Reason | None:
    """Return why a run of this kind looks at a member; None where it does not.

    Args:
        now: the run's pins with the member's profile; None where `profiles` does not have the member.
        is_revoked: a judgment that the member's labels were made with was revoked since (`rules.revocation`).
        holds: those that stand.
    """
    if is_on_hold(now, before.stands, holds):
        return None
    reason = _gone(before) if now is None else "revoked" if is_revoked else _difference(now, before)
    return reason if reason in LOOKS_AFTER[kind] else None


def _gone(before: Published) -> Reason | None:
    """Only who is covered has labels; the coverage of a removal has no profile."""
    is_left = before.stands is not None and before.stands.profile_hash is not None
    return "member_removed" if is_left else None


def _difference(now: MemberPins, before: Published) -> Reason:
    """The first difference that holds."""
    then = before.stands
    if before.is_open:
        return "incomplete"
    if then is None:
        return "first_time"
    if then.restored_run_id is not None:
        return "rolled_back"
    if now.profile_hash != then.profile_hash:
        return "profile_changed"
    if now.catalog_version != then.catalog_version:
        return "catalog_changed"
    if now.artifact_id != then.artifact_id:
        return "artifact_changed"
    return "retrieval_changed" if _retrieves_otherwise(now, then) else "unchanged"


def _retrieves_otherwise(now: MemberPins, then: MemberPins) -> bool:
    return (now.retriever_id, now.candidates_per_member) != (then.retriever_id, then.candidates_per_member)


def new_pairs_at_most(
    now: MemberPins | None, before: Published, *, n_entries: int, reuses_nothing: bool = False
) -> int:
    """Return how many pairs of a member in scope may have no judgment yet.

    A member of whom nothing but the threshold or the round rule has changed has the judgments of its last run; one of
    whom nothing has changed needs no other. Everyone else may need all candidates.

    Args:
        n_entries: active entries of the catalog, fewer of which than K may be proposed.
        reuses_nothing: the run recomputes, or judgments of the member were revoked.
    """
    if now is None or now.profile_hash is None:
        return 0
    at_most = min(now.candidates_per_member, n_entries)
    if reuses_nothing or before.is_open or before.stands is None or not _has_the_same_pairs(now, before.stands):
        return at_most
    is_decided_alike = now.artifact_id == before.stands.artifact_id
    return 0 if is_decided_alike else max(0, at_most - before.stands.judged)


def _has_the_same_pairs(now: MemberPins, then: Covered) -> bool:
    return (
        now.profile_hash == then.profile_hash
        and now.catalog_version == then.catalog_version
        and now.scorer_id == then.scorer_id
        and not _retrieves_otherwise(now, then)
    )
