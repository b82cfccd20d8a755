"""What a run changes of one label, and why."""

from dataclasses import dataclass, fields
from typing import Literal

from jobs.rules.standing import MemberPins

Change = Literal["added", "removed", "revised"]


@dataclass(frozen=True, kw_only=True)
class Label:
    """What makes a label another one. Rank, round and run are lineage of the row that stands."""

    score: float
    threshold: float
    artifact_id: str
    query_hash: str
    item_hash: str


IDENTITY = tuple(field.name for field in fields(Label))  # the columns of `labels` by which two rows are one label


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A catalog entry as the run pinned it.

    Attributes:
        item_hash: of its rendered text; None where it has no text.
        is_quarantined: the entry could not be used, so nothing was judged, and nothing rejected.
    """

    status: str | None
    item_hash: str | None
    is_quarantined: bool


def label_change(
    before: Label | None, after: Label | None, entry: Entry | None, *, is_member_removed: bool
) -> Change | None:
    """Return what happens to a published label that a run may change; None where its row stays as it is."""
    if before == after:
        return None
    if before is None:
        return "added"
    if after is None:
        is_kept = entry is not None and entry.is_quarantined and not is_member_removed
        return None if is_kept else "removed"
    return "revised"


def change_reason(
    before: Label | None,
    after: Label | None,
    entry: Entry | None,
    now: MemberPins,
    earlier: MemberPins | None,
    *,
    is_member_removed: bool,
    cause: str | None = None,
) -> str:
    """Return the first cause that holds: member, entry, profile, scorer, threshold, text, revoked, catalog, retrieval.

    Args:
        earlier: the coverage that the member's labels stood on before the run.
        cause: why other judgments were taken although no input changed: revoked, rolled_back, recomputed.
    """
    if is_member_removed:
        return "member_removed"
    if after is None and (entry is None or entry.status is None):
        return "catalog_entry_removed"
    if after is None and entry is not None and entry.status == "retired":
        return "retired"
    if earlier is None:
        return "first_time"
    return _pinned_cause(now, earlier) or _entry_cause(before, entry, now, earlier, cause)


def _pinned_cause(now: MemberPins, earlier: MemberPins) -> str | None:
    if now.profile_hash != earlier.profile_hash:
        return "profile_changed"
    if now.scorer_id != earlier.scorer_id:
        return "scorer"
    return "threshold" if now.artifact_id != earlier.artifact_id else None


def _entry_cause(
    before: Label | None, entry: Entry | None, now: MemberPins, earlier: MemberPins, cause: str | None
) -> str:
    has_texts = before is not None and entry is not None and entry.item_hash is not None
    if has_texts and before.item_hash != entry.item_hash:  # type: ignore[union-attr]
        return "catalog_text_changed"
    if cause is not None:
        return cause
    return "catalog_changed" if now.catalog_version != earlier.catalog_version else "retrieval_moved"
