"""All that the pages read, bounded: a page of rows at a time, whatever the tables hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobs.audit_label import audit_label
from jobs.ledger import PUBLISHED
from jobs.pins import PINNED
from jobs.run_ledger import RunLedger, newest_runs
from jobs.settings import Settings
from jobs.table_path import table_exists
from jobs.table_reader import literal, query
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.profiles import PROFILES
from schemas.runs import RUNS
from schemas.table import Table
from schemas.texts import TEXTS

ROWS_PER_PAGE = 100
RESULTS = 25  # of a search, of each kind
_RUNS_LOOKED_AT = 100  # for the catalog's versions
_PUBLISHED_AT = f"(SELECT run_id, min(at) AS at FROM runs WHERE event = '{PUBLISHED}' GROUP BY run_id)"
_QUERY_AND_ITEM = {"query": "query_hash", "item": "item_hash"}


@dataclass(frozen=True, kw_only=True)
class Rows:
    """One page of rows.

    Attributes:
        number: 1-based.
        has_more: whether there is a next page.
    """

    rows: Sequence[dict[str, Any]] = ()
    number: int = 1
    has_more: bool = False


def find_members(settings: Settings, start: str) -> Rows:
    """Return the members whose id starts so: those in `profiles`, and those who only have labels still."""
    tables = [table for table in (PROFILES, LABELS) if table_exists(settings.tables, table)]
    starts = f"WHERE starts_with(member_id, {literal(start)})"
    union = " UNION ".join(f"SELECT member_id FROM {table.name} {starts}" for table in tables)
    return _rows(settings, f"SELECT * FROM ({union}) ORDER BY member_id", *tables, size=RESULTS) if tables else Rows()


def find_qualifications(settings: Settings, typed: str) -> Rows:
    """Return the entries whose id starts so, or whose text contains it, whatever its case."""
    sql = f"""
        SELECT * FROM catalog WHERE starts_with(qualification_id, {literal(typed)})
        OR contains(lower(text), lower({literal(typed)}))
        ORDER BY starts_with(qualification_id, {literal(typed)}) DESC, length(text), qualification_id"""
    return _rows(settings, sql, CATALOG, size=RESULTS)


def read_entry(settings: Settings, qualification_id: str) -> dict[str, Any] | None:
    """Return an entry of the current catalog."""
    return _first(settings, f"SELECT * FROM catalog WHERE qualification_id = {literal(qualification_id)}", CATALOG)


def is_member(settings: Settings, member_id: str) -> bool:
    """Whether any table knows the member."""
    of_member = f"WHERE member_id = {literal(member_id)}"
    return any(
        _first(settings, f"SELECT member_id FROM {table.name} {of_member}", table)
        for table in (PROFILES, LABELS, COVERAGE, LABEL_CHANGES)
    )


def labels_of(settings: Settings, member_id: str, *, page: int = 1) -> Rows:
    """Return a member's labels, best score first, each with the text of its entry."""
    sql = f"""
        SELECT l.*, c.text, c.category FROM labels l LEFT JOIN catalog c ON l.qualification_id = c.qualification_id
        WHERE l.member_id = {literal(member_id)} ORDER BY l.score DESC, l.qualification_id"""
    return _rows(settings, sql, LABELS, CATALOG, page=page)


def holders_of(settings: Settings, qualification_id: str, *, page: int = 1) -> Rows:
    """Return the labels of an entry, by member."""
    sql = f"SELECT * FROM labels WHERE qualification_id = {literal(qualification_id)} ORDER BY member_id"
    return _rows(settings, sql, LABELS, page=page)


def count_labels(settings: Settings, column: str, value: str) -> int:
    """Count the labels of a member or of an entry."""
    found = _first(settings, f"SELECT count(*) AS n FROM labels WHERE {column} = {literal(value)}", LABELS)
    return found["n"] if found else 0


def read_label(settings: Settings, member_id: str, qualification_id: str) -> dict[str, Any]:
    """Return the audit of a pair, and under `texts` what was judged, where that is still kept."""
    found = audit_label(settings, member_id, qualification_id)
    return found | {"texts": _texts(settings, found)}


def history_of(settings: Settings, member_id: str, qualification_id: str | None = None, *, page: int = 1) -> Rows:
    """Return what published runs changed of a member's labels, or of one of them, newest first."""
    of_label = "" if qualification_id is None else f"AND c.qualification_id = {literal(qualification_id)}"
    return _changes(settings, f"c.member_id = {literal(member_id)} {of_label}", page=page)


def changes_by(settings: Settings, run_id: str, *, page: int = 1) -> Rows:
    """Return the labels that a run changed."""
    return _changes(settings, f"c.run_id = {literal(run_id)}", page=page)


def catalog_versions(settings: Settings) -> list[RunLedger]:
    """Return of each catalog version the first run that pinned it, newest version first, as far as the last runs go."""
    if not table_exists(settings.tables, RUNS):
        return []
    oldest_first = reversed(newest_runs(settings.tables, limit=_RUNS_LOOKED_AT))
    first: dict[str, RunLedger] = {}
    for run in oldest_first:
        first.setdefault(run.of(PINNED)["catalog_version"], run)
    return list(reversed(first.values()))


def diff_catalogs(settings: Settings, older: str, newer: str) -> dict[str, Any] | None:
    """Return how two catalog versions differ, or None where that is not known."""
    return None


def _changes(settings: Settings, where: str, *, page: int) -> Rows:
    sql = f"""
        SELECT c.*, p.at FROM label_changes c JOIN {_PUBLISHED_AT} p ON c.run_id = p.run_id
        WHERE {where} ORDER BY p.at DESC, c.member_id, c.qualification_id"""
    return _rows(settings, sql, LABEL_CHANGES, RUNS, page=page)


def _texts(settings: Settings, found: dict[str, Any]) -> dict[str, str]:
    hashes = {found[column]: name for name, column in _QUERY_AND_ITEM.items() if found.get(column)}
    if not hashes or not table_exists(settings.tables, TEXTS):
        return {}
    listed = ", ".join(literal(hash_) for hash_ in hashes)
    rows = query(settings.tables, f"SELECT text_hash, text FROM texts WHERE text_hash IN ({listed})", TEXTS)
    return {hashes[row["text_hash"]]: row["text"] for row in rows}


def _first(settings: Settings, sql: str, table: Table) -> dict[str, Any] | None:
    if not table_exists(settings.tables, table):
        return None
    return next(iter(query(settings.tables, f"{sql} LIMIT 1", table)), None)


def _rows(settings: Settings, sql: str, *tables: Table, page: int = 1, size: int = ROWS_PER_PAGE) -> Rows:
    """Run a query for one page, and one row more to know whether that is all."""
    rows = query(settings.tables, f"{sql} LIMIT {size + 1} OFFSET {(page - 1) * size}", *tables)
    return Rows(rows=rows[:size], number=page, has_more=len(rows) > size)
