"""All members' labels as the tables have them: what a rebuild puts into the store, and a check compares with it.

Holds the labels of all members in memory, some 100 bytes each.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tenacity import Retrying, retry_if_result, stop_after_attempt

from jobs.audit.moment import Publication
from jobs.errors import CheckFailedError
from jobs.kv.published import published_since, value_of
from jobs.kv.store import LabelStore
from jobs.kv.value import MemberLabels, Position
from jobs.labels_commit import LabelsBase
from jobs.standing_coverage import standing_coverage
from jobs.table_path import table_exists
from jobs.table_reader import query
from schemas.coverage import COVERAGE
from schemas.labels import LABELS

_ATTEMPTS = 20
_SHOWN = 20  # members named by a check


@dataclass(frozen=True, kw_only=True)
class PublishedLabels:
    """The values of all members that a run has covered, and the position that they are of."""

    values: Sequence[MemberLabels]
    position: Position


def read_published(root: Path) -> PublishedLabels:
    """Read all values as of one moment.

    Raises:
        CheckFailedError: runs were published at each of several looks.
    """
    if not (table_exists(root, LABELS) and table_exists(root, COVERAGE)):
        return PublishedLabels(values=[], position=Position())
    looks = Retrying(retry=retry_if_result(lambda found: found is None), stop=stop_after_attempt(_ATTEMPTS))
    looks.retry_error_callback = lambda _: None
    found: PublishedLabels | None = looks(_look, root)
    if found is None:
        raise CheckFailedError(f"runs were published at each of {_ATTEMPTS} looks at {root}: try again.")
    return found


def _look(root: Path) -> PublishedLabels | None:
    """Return all values, or None where a run was published meanwhile."""
    before, base = published_since(root, Position()), LabelsBase.of(root)
    by_run = {one.run_id: one for one in before}
    rows = query(root, _sql(root), COVERAGE, LABELS)
    if published_since(root, Position()) != before or LabelsBase.of(root).n_publications != base.n_publications:
        return None
    position = Position()
    for one in sorted(before, key=lambda one: one.at):
        position = position.after(one.run_id, one.at, one.number if one.has_commit else 0)
    values = [_value(list(of_member), by_run) for _, of_member in groupby(rows, key=lambda row: row["member_id"])]
    return PublishedLabels(values=values, position=position)


def _sql(root: Path) -> str:
    return f"""
        {standing_coverage(root)}
        SELECT s.*, l.qualification_id, l.score FROM stands s LEFT JOIN labels l ON l.member_id = s.member_id
        ORDER BY s.member_id"""


def _value(rows: Sequence[dict[str, Any]], by_run: dict[str, Publication]) -> MemberLabels:
    scores = {row["qualification_id"]: row["score"] for row in rows if row["qualification_id"] is not None}
    return value_of(rows[0], by_run[rows[0]["run_id"]], scores)


def check_store(store: LabelStore, root: Path) -> dict[str, Any]:
    """Compare the store with the tables.

    Returns:
        agrees; members; runs_behind: publications that were not fed yet, which explain differences; differences: how
        many members differ, and some of them: `member_id`, `store` and `tables`, each a value or null.
    """
    position = store.position()
    published = read_published(root)
    found = {value.member_id: value for value in store.values()}
    expected = {value.member_id: value for value in published.values}
    differing = [
        member for member in sorted(found.keys() | expected.keys()) if found.get(member) != expected.get(member)
    ]
    return {
        "agrees": not differing,
        "members": len(expected),
        "runs_behind": len(published_since(root, position or Position())),
        "n_differences": len(differing),
        "differences": [
            {"member_id": member, "store": _shown(found.get(member)), "tables": _shown(expected.get(member))}
            for member in differing[:_SHOWN]
        ],
    }


def _shown(value: MemberLabels | None) -> dict[str, Any] | None:
    return None if value is None else {name: part for name, part in asdict(value).items() if name != "member_id"}
