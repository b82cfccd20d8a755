"""What the store holds: a member's labels with what they stand on, and the position up to which it was fed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

Order = tuple[int, int, int, float, str]
"""Of two published states of a member the greater one stands: `jobs.rules.standing.published`."""

# Events of the ledger are found by the time that their writer gave them, so two writers whose clocks differ by more
# than this may hide one from the feeder; `semlabel kv check` finds that.
CLOCKS_DIFFER_BY = timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class MemberLabels:
    """A member's published labels.

    Attributes:
        scores: by qualification_id; empty where nothing was accepted.
        run_id: the published run that covered the member last; profile_version: of the profile that it knew.
        labels_version: the publication from which they hold. published_at: of that run, UTC, ISO 8601.
        order: guards the value: an older state never replaces a newer one.
        is_removed: the member is gone; the value stays, so that no older run brings labels back.
    """

    member_id: str
    scores: Mapping[str, float]
    run_id: str
    profile_version: int | None
    labels_version: int
    published_at: str
    order: Order
    is_removed: bool = False

    def to_json(self) -> str:
        """Return the value as it is stored."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> "MemberLabels":
        """Return what was stored."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**fields | {"order": tuple(fields["order"])})


@dataclass(frozen=True, kw_only=True)
class Position:
    """Up to where the store was fed.

    Attributes:
        labels_version: of the last commit on `labels` that is in it.
        published_at: of the newest publication that is in it, UTC, ISO 8601; None before the first.
        applied: the runs of the last minutes that are in it, with the times of their publication.
    """

    labels_version: int = 0
    published_at: str | None = None
    applied: Mapping[str, str] = field(default_factory=dict)

    def has(self, run_id: str, published_at: datetime) -> bool:
        """Whether a publication is in the store."""
        return run_id in self.applied or (
            self.published_at is not None
            and published_at < datetime.fromisoformat(self.published_at) - CLOCKS_DIFFER_BY
        )

    def after(self, run_id: str, published_at: datetime, labels_version: int) -> "Position":
        """Return the position once another publication is in the store."""
        before = None if self.published_at is None else datetime.fromisoformat(self.published_at)
        newest = published_at if before is None else max(before, published_at)
        applied = {**self.applied, run_id: published_at.isoformat()}
        kept = {one: at for one, at in applied.items() if datetime.fromisoformat(at) >= newest - CLOCKS_DIFFER_BY}
        return Position(
            labels_version=max(self.labels_version, labels_version), published_at=newest.isoformat(), applied=kept
        )

    def to_json(self) -> str:
        """Return the position as it is stored."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Position":
        """Return what was stored."""
        return cls(**json.loads(text))
