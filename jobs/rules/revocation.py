"""Which judgments are withdrawn, and whose labels were made with one.

A run leaves out what was revoked when it pinned its inputs, from its first step to its last. What was revoked later is
found by the next run: it compares the time of the revocation with the pins that a member's labels stand on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Revocation:
    """A row of `revocations`; None fits every judgment. `until` is at most `at`, so what is judged later is used."""

    revocation_id: str
    fingerprint: str | None
    run_id: str | None
    since: datetime | None
    until: datetime
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Where a judgment comes from: the columns of `judgments` that a revocation looks at."""

    engine: str
    run_id: str
    judged_at: datetime


def withdrawn_at(judgment: Judged, revocations: Iterable[Revocation]) -> datetime | None:
    """Return when a judgment was last revoked; None where it may be used."""
    return max((one.at for one in revocations if _fits(one, judgment)), default=None)


def _fits(one: Revocation, judgment: Judged) -> bool:
    return (
        one.fingerprint in (None, judgment.engine)
        and one.run_id in (None, judgment.run_id)
        and (one.since is None or judgment.judged_at >= one.since)
        and judgment.judged_at <= one.until
    )


def may_concern(pinned_at: datetime, revocations: Iterable[Revocation]) -> list[Revocation]:
    """Return the revocations that labels on pins of that time, or a later one, may stand on judgments of.

    A run leaves out what was revoked when it pinned, so these are the ones made later.
    """
    return [one for one in revocations if one.at > pinned_at]


def stands_on_revoked(pinned_at: datetime, withdrawn: Iterable[datetime | None]) -> bool:
    """Whether a member's labels may have been made with a judgment that was revoked afterwards.

    Args:
        pinned_at: of the coverage that the labels stand on.
        withdrawn: of all judgments of the member's query by that scorer; of a pair judged twice both count, since a
            look too many scores nothing.
    """
    return any(at is not None and at > pinned_at for at in withdrawn)
