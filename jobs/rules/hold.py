"""Which members a *hold* on inputs keeps from a run: plans leave them out, and a publication that comes late too.

A hold is placed by a rollback and stands until it is released; a run that is *held* (`jobs.rules.guards`) is another
thing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jobs.rules.standing import MemberPins

Input = Literal["artifact", "catalog", "members"]


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A hold that stands.

    Attributes:
        value: the artifact_id or the catalog_version that no run may use; for members the run_id of the rollback: held
            is whose labels stand on its coverage.
    """

    hold_id: str
    input: Input
    value: str


def is_run_on_hold(artifact_id: str, catalog_version: str, holds: Iterable[Hold]) -> bool:
    """Whether a run pinned what is on hold: it may do nothing but remove members who are gone."""
    return any((hold.input, hold.value) in (("artifact", artifact_id), ("catalog", catalog_version)) for hold in holds)


def is_on_hold(now: MemberPins | None, stands: MemberPins | None, holds: Iterable[Hold]) -> bool:
    """Whether a run must leave a member's labels as they are.

    Args:
        now: the run's pins; None where `profiles` does not have the member, who is removed whatever is on hold.
        stands: the coverage that the member's labels stand on.
    """
    if now is None:
        return False
    known = list(holds)
    kept_by = None if stands is None else stands.run_id
    return is_run_on_hold(now.artifact_id, now.catalog_version, known) or any(
        hold.input == "members" and hold.value == kept_by for hold in known
    )
