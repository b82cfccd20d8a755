"""A moment of the published labels: now, a time, or right after a run; which publications had taken effect by then.

Publications are ordered as `labels` was committed to. A run that changed nothing made no commit, and comes after the
one that it compared itself with.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.iso_time import time_of
from jobs.ledger import PUBLISHED, publication_number
from jobs.table_reader import Reader, equals
from mis_scoring.core.errors import DataError
from schemas.runs import RUNS


@dataclass(frozen=True, kw_only=True)
class Publication:
    """A published run.

    Attributes:
        number: version of `labels` that it committed or, where it changed nothing, found to be right.
        at: when its `published` event was written.
    """

    run_id: str
    number: int
    has_commit: bool
    at: datetime

    @property
    def order(self) -> tuple[int, bool, datetime, str]:
        """Sorts publications as they took effect."""
        return self.number, not self.has_commit, self.at, self.run_id


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The publications that count.

    Attributes:
        asked: the time or run that was asked for; None: now.
        run_id, at: of the last publication that counts; None where there is none.
        publications: run -> publication, in the order in which they took effect.
    """

    asked: str | None
    publications: dict[str, Publication] = field(repr=False)

    @property
    def is_now(self) -> bool:
        """Whether nothing was asked for but the state that stands."""
        return self.asked is None

    @property
    def last(self) -> Publication | None:
        """The last publication that counts."""
        return next(reversed(self.publications.values()), None)

    def as_dict(self) -> dict[str, Any]:
        """Return `asked`, and the `run_id` and `at` of the last publication that counts."""
        last = self.last
        return {"asked": self.asked, "run_id": last and last.run_id, "at": last and last.at.isoformat()}


def moment_of(reader: Reader, as_of: str | None) -> Moment:
    """Resolve a moment.

    Args:
        as_of: a published run, or a time as ISO 8601 (UTC unless it says otherwise); None: now.
    Raises:
        DataError: it is neither.
    """
    every = publications(reader)
    if as_of is None:
        kept = every
    elif as_of in {one.run_id for one in every}:
        kept = every[: 1 + next(place for place, one in enumerate(every) if one.run_id == as_of)]
    else:
        until = _time(reader, as_of)
        kept = [one for one in every if one.at <= until]
    return Moment(asked=as_of, publications={one.run_id: one for one in kept})


def publications(reader: Reader, *, since: datetime | None = None) -> list[Publication]:
    """Return the published runs in the order in which they took effect; one row a run that ever published.

    Args:
        since: only those whose event was written from then on.
    """
    later = "" if since is None else f" AND at >= TIMESTAMP '{since.isoformat()}'"
    rows = reader.rows(f"SELECT run_id, at, payload FROM runs WHERE event = '{PUBLISHED}'{later}", RUNS)
    found = [_publication(row["run_id"], row["at"], json.loads(row["payload"])) for row in rows]
    return sorted(found, key=lambda one: one.order)


def _publication(run_id: str, at: datetime, payload: dict[str, Any]) -> Publication:
    has_commit = payload["labels_version"] is not None
    return Publication(run_id=run_id, number=publication_number(payload), has_commit=has_commit, at=at)


def _time(reader: Reader, as_of: str) -> datetime:
    try:
        return time_of(as_of)
    except ValueError:
        is_known = reader.one(f"SELECT run_id FROM runs WHERE {equals(run_id=as_of)} LIMIT 1", RUNS)
        what = "a run that is not published" if is_known else "neither a run nor a time"
        raise DataError(
            f"{as_of!r} is {what}: give a published run (`semlabel runs` lists them) or a time such as "
            "2026-01-31T12:00:00"
        ) from None
