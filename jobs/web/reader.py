"""All that the pages read, bounded: a page of rows at a time, whatever the tables hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobs.audit import audit_label, audit_member, label_history
from jobs.audit import find_members as find_members_by_start
from jobs.audit import find_qualifications as find_entries
from jobs.audit.known import knows_member as is_known
from jobs.catalog_diff import catalog_diff
from jobs.input_hold import show_holds
from jobs.ledger import PUBLISHED
from jobs.pins import PINNED
from jobs.run_ledger import RunLedger, newest_runs, read_run
from jobs.settings import Settings
from jobs.table_reader import Reader, equals
from jobs.web.facts import flat
from schemas.catalog import CATALOG
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.runs import RUNS
from schemas.table import Table

ROWS_PER_PAGE = 100
RUNS_PER_PAGE = 20
RESULTS = 25  # of a search, of each kind
_RUNS_LOOKED_AT = 100  # for the catalog's versions


@dataclass(frozen=True, kw_only=True)
class Rows:
    """One page of rows.

    Attributes:
        number: 1-based.
        has_more: whether there is a next page.
    """

    rows: Sequence[Any] = ()
    number: int = 1
    has_more: bool = False


def find_members(settings: Settings, typed: str) -> Rows:
    """Return members whose id starts so."""
    return _first_page(find_members_by_start(settings, typed, limit=RESULTS + 1), RESULTS)


def find_qualifications(settings: Settings, typed: str) -> Rows:
    """Return catalog entries by the start of the id or a part of the text."""
    return _first_page(find_entries(settings, typed, limit=RESULTS + 1), RESULTS)


def read_entry(settings: Settings, qualification_id: str) -> dict[str, Any] | None:
    """Return an entry of the catalog as it is now."""
    where = equals(qualification_id=qualification_id)
    return Reader(settings.tables).one(f"SELECT * FROM catalog WHERE {where} LIMIT 1", CATALOG)


def knows_member(settings: Settings, member_id: str) -> bool:
    """Whether any table has the member."""
    return is_known(Reader(settings.tables), member_id)


def read_member(settings: Settings, member_id: str, *, as_of: str | None) -> dict[str, Any]:
    """Return a member's labels, at most K of them, and what they stand on."""
    return audit_member(settings, member_id, as_of=as_of)


def history_of(settings: Settings, member_id: str, qualification_id: str | None = None, *, page: int) -> Rows:
    """Return what published runs changed of a member's labels, or of one of them, newest first."""
    newest_first = label_history(settings, member_id, qualification_id)[::-1]
    start = (page - 1) * ROWS_PER_PAGE
    rows = newest_first[start : start + ROWS_PER_PAGE]
    return Rows(rows=rows, number=page, has_more=len(newest_first) > start + ROWS_PER_PAGE)


def read_audit(settings: Settings, member_id: str, qualification_id: str, *, as_of: str | None) -> dict[str, Any]:
    """Return the audit of a pair, its keys joined by dots."""
    return flat(audit_label(settings, member_id, qualification_id, as_of=as_of))


def holders_of(settings: Settings, qualification_id: str, *, page: int) -> Rows:
    """Return the labels of an entry, by member."""
    sql = f"SELECT * FROM labels WHERE {equals(qualification_id=qualification_id)} ORDER BY member_id"
    return _page(settings, sql, LABELS, page=page)


def count_holders(settings: Settings, qualification_id: str) -> int:
    """Return how many members have a label."""
    sql = f"SELECT count(*) AS n FROM labels WHERE {equals(qualification_id=qualification_id)}"
    found = Reader(settings.tables).one(sql, LABELS)
    return found["n"] if found else 0


def changes_by(settings: Settings, run_id: str, *, page: int) -> Rows:
    """Return the labels that a published run changed."""
    is_published = f"EXISTS (SELECT 1 FROM runs WHERE {equals(run_id=run_id, event=PUBLISHED)})"
    where = f"{equals(run_id=run_id)} AND {is_published}"
    sql = f"SELECT * FROM label_changes WHERE {where} ORDER BY member_id, qualification_id"
    return _page(settings, sql, LABEL_CHANGES, RUNS, page=page)


def runs(settings: Settings, *, page: int) -> Rows:
    """Return the runs, newest first."""
    found = newest_runs(settings.tables, limit=RUNS_PER_PAGE + 1, offset=(page - 1) * RUNS_PER_PAGE)
    return Rows(rows=found[:RUNS_PER_PAGE], number=page, has_more=len(found) > RUNS_PER_PAGE)


def read_ledger(settings: Settings, run_id: str) -> RunLedger | None:
    """Return what a run left in the ledger."""
    found = read_run(settings.tables, run_id)
    return found if found.times else None


def holds(settings: Settings) -> list[dict[str, Any]]:
    """Return what no run may use until it is released."""
    return show_holds(settings.tables)


def catalog_versions(settings: Settings) -> list[RunLedger]:
    """Return of each catalog version the first run that pinned it, newest version first, as far as the last runs go."""
    first: dict[str, RunLedger] = {}
    for run in reversed(newest_runs(settings.tables, limit=_RUNS_LOOKED_AT)):
        first.setdefault(run.of(PINNED)["catalog_version"], run)
    return list(reversed(first.values()))


def compare_catalogs(settings: Settings, then: str, now: str, *, page: int) -> tuple[dict[str, Any], Rows]:
    """Return how two catalog versions differ, and one page of the entries that do."""
    diff = catalog_diff(settings, then, now)
    start = (page - 1) * ROWS_PER_PAGE
    entries = diff["entries"][start : start + ROWS_PER_PAGE]
    return diff, Rows(rows=entries, number=page, has_more=len(diff["entries"]) > start + ROWS_PER_PAGE)


def _first_page(found: Sequence[Any], size: int) -> Rows:
    return Rows(rows=found[:size], has_more=len(found) > size)


def _page(settings: Settings, sql: str, *tables: Table, page: int) -> Rows:
    """Run a query for one page, and one row more to know whether that is all."""
    limited = f"{sql} LIMIT {ROWS_PER_PAGE + 1} OFFSET {(page - 1) * ROWS_PER_PAGE}"
    rows = Reader(settings.tables).rows(limited, *tables)
    return Rows(rows=rows[:ROWS_PER_PAGE], number=page, has_more=len(rows) > ROWS_PER_PAGE)
