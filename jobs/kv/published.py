"""Published runs as the feeder takes them: in the order in which they took effect, with what each did for members."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jobs.audit.moment import Publication, publications
from jobs.kv.value import CLOCKS_DIFFER_BY, MemberLabels, Order, Position
from jobs.table_reader import Reader, equals, query
from schemas.coverage import COVERAGE
from schemas.label_changes import LABEL_CHANGES

REMOVED = "member_removed"


@dataclass(frozen=True, kw_only=True)
class Change:
    """A label that a run changed; the score is None where it removed it."""

    qualification_id: str
    score: float | None


@dataclass(frozen=True, kw_only=True)
class RunContent:
    """What a published run did.

    Attributes:
        covered: its complete rows of `coverage`, by member. changes: its `label_changes`, by member.
    """

    publication: Publication
    covered: Mapping[str, Mapping[str, Any]]
    changes: Mapping[str, Sequence[Change]]

    def next_value(self, member_id: str, before: MemberLabels | None) -> MemberLabels | None:
        """Return a member's value after the run; None where a newer one stands."""
        row = self.covered[member_id]
        order = order_of(row, self.publication)
        if before is not None and before.order >= order:
            return None
        scores = {} if before is None else dict(before.scores)
        for change in self.changes.get(member_id, ()):
            if change.score is None:
                scores.pop(change.qualification_id, None)
            else:
                scores[change.qualification_id] = change.score
        return value_of(row, self.publication, scores)


def published_since(root: Path, position: Position) -> list[Publication]:
    """Return the publications that are not in the position, in the order in which they took effect.

    Every commit on `labels` before the last one has its event: each publisher repairs what is missing before its own.
    """
    newest = position.published_at
    since = None if newest is None else datetime.fromisoformat(newest) - CLOCKS_DIFFER_BY
    found = publications(Reader(root), since=since)
    return [one for one in found if not position.has(one.run_id, one.at)]


def read_content(root: Path, publication: Publication) -> RunContent:
    """Read what a published run did; grows with the members that it covered."""
    of_run = equals(run_id=publication.run_id)
    covered = query(root, f"SELECT * FROM coverage WHERE {of_run} AND is_complete", COVERAGE)
    sql = f"SELECT member_id, qualification_id, change, after['score'] AS score FROM label_changes WHERE {of_run}"
    changes: defaultdict[str, list[Change]] = defaultdict(list)
    for row in query(root, sql, LABEL_CHANGES):
        score = None if row["change"] == "removed" else row["score"]
        changes[row["member_id"]].append(Change(qualification_id=row["qualification_id"], score=score))
    return RunContent(publication=publication, covered={row["member_id"]: row for row in covered}, changes=changes)


def order_of(row: Mapping[str, Any], publication: Publication) -> Order:
    """Return by what a row of coverage is the newer one of two: `jobs.rules.standing`."""
    pinned_s = row["pinned_at"].timestamp()
    run_id = publication.run_id
    return publication.number, row["profiles_delta_version"], row["catalog_delta_version"], pinned_s, run_id


def value_of(row: Mapping[str, Any], publication: Publication, scores: Mapping[str, float]) -> MemberLabels:
    """Return the value of a member who stands on a row of coverage."""
    is_removed = row["stop_reason"] == REMOVED
    return MemberLabels(
        member_id=row["member_id"],
        scores={} if is_removed else dict(sorted(scores.items())),
        run_id=publication.run_id,
        profile_version=row["profile_version"],
        labels_version=publication.number,
        published_at=publication.at.isoformat(),
        order=order_of(row, publication),
        is_removed=is_removed,
    )
