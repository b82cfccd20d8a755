"""What a rollback does with a member that the run covered, and with each of the member's labels."""

from typing import Literal, TypeVar

from jobs.rules.standing import MemberPins

Fate = Literal["restored", "republished", "gone"]
L = TypeVar("L")


def member_fate(
    ran: MemberPins, stands: MemberPins, *, is_changed_since: bool, is_present: bool, is_forced: bool
) -> Fate:
    """Return whether a member gets back the labels from before the run.

    A later run that found the same labels by the same inputs only confirmed the run, and is taken back with it.

    Args:
        ran: the run's own coverage of the member; `stands`: the coverage that the labels stand on now.
        is_changed_since: a later run has changed a label of the member.
        is_present: `profiles` has the member; who is gone gets no label back.
    """
    if not is_present:
        return "gone"
    is_republished = is_changed_since or _decided_by(ran) != _decided_by(stands)
    return "republished" if is_republished and not is_forced else "restored"


def _decided_by(pins: MemberPins) -> tuple[str | int | None, ...]:
    return pins.profile_hash, pins.catalog_version, pins.artifact_id, pins.retriever_id, pins.candidates_per_member


def restored_label(before: L | None, *, status: str | None) -> L | None:
    """Return the label that stands after a rollback: the one from before, unless its entry is retired or removed.

    Args:
        status: of the catalog entry now; None where there is none.
    """
    return before if status == "active" else None
