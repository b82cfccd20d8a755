"""The metrics that the tables give: members, stale members, catalog, labels, judgments, files.

Read by delta-rs. The costly one hashes every profile's text; the exporter asks again only when a table has a new
version.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from jobs.metrics import names
from jobs.metrics.names import Metric, Sample
from jobs.standing_coverage import standing_coverage
from jobs.table_path import table_exists, table_path
from jobs.table_reader import query
from schemas.catalog import CATALOG, CATEGORIES, STATUSES
from schemas.coverage import COVERAGE
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.judgments import JUDGMENTS
from schemas.labels import LABELS
from schemas.profiles import PROFILES
from schemas.runs import RUNS
from schemas.table import Table

STALE_REASONS = ("not_covered", "profile_changed", "quarantined", "incomplete", "conflicting", "on_hold", "rolled_back")
# null, which is dropped, means that the labels are of the current profile
_STALE = """
SELECT CASE WHEN l.pinned_at > s.pinned_at OR l.profiles_delta_version > s.profiles_delta_version
                 OR l.catalog_delta_version > s.catalog_delta_version OR s.member_id IS NULL AND l.member_id IS NOT NULL
            THEN l.incomplete_reason
            WHEN s.member_id IS NULL THEN 'not_covered'
            WHEN s.restored_run_id IS NOT NULL THEN 'rolled_back'
            WHEN s.profile_hash IS DISTINCT FROM encode(sha256(p.profile_text), 'hex') THEN 'profile_changed'
       END AS label, count(*) AS value
FROM profiles p LEFT JOIN stands s ON s.member_id = p.member_id LEFT JOIN left_out l ON l.member_id = p.member_id
GROUP BY 1"""

_LABELS = """
SELECT coalesce(k.category, 'none') AS label, count(*) AS value
FROM labels l LEFT JOIN catalog k ON k.qualification_id = l.qualification_id GROUP BY 1"""

_ENTRIES = "SELECT coalesce(status, 'none') AS label, count(*) AS value FROM catalog GROUP BY 1"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One question to the tables.

    Attributes:
        tables: all that it reads: their versions say whether the answer still holds.
        ask: table root -> samples.
    """

    tables: tuple[Table, ...]
    ask: Callable[[Path], list[Sample]]

    def versions(self, root: Path) -> tuple[int, ...] | None:
        """Return the version of each table; None where one is missing."""
        if not all(table_exists(root, table) for table in self.tables):
            return None
        return tuple(DeltaTable(table_path(root, table)).version() for table in self.tables)


def _by_label(metric: Metric, sql: str, tables: tuple[Table, ...], zeros: tuple[str, ...], root: Path) -> list[Sample]:
    """Ask SQL that gives (label, value) rows; a label of `zeros` without a row is 0: its series goes on."""
    found = dict.fromkeys(zeros, 0) | {row["label"]: row["value"] for row in query(root, sql, *tables)}
    return [Sample(metric=metric, value=n, labels=(label,)) for label, n in found.items() if label is not None]


def _stale(root: Path) -> list[Sample]:
    tables = (PROFILES, COVERAGE, RUNS)
    return _by_label(names.STALE_MEMBERS, standing_coverage(root) + _STALE, tables, STALE_REASONS, root)


def _row_count(metric: Metric, table: Table, root: Path) -> list[Sample]:
    return [Sample(metric=metric, value=query(root, f"SELECT count(*) AS n FROM {table.name}", table)[0]["n"])]


def _files(table: Table, root: Path) -> list[Sample]:
    sizes = pa.table(DeltaTable(table_path(root, table)).get_add_actions(flatten=True))["size_bytes"]
    return [
        Sample(metric=names.TABLE_FILES, value=len(sizes), labels=(table.name,)),
        Sample(metric=names.TABLE_BYTES, value=pc.sum(sizes).as_py() or 0, labels=(table.name,)),
    ]


def _by_sql(metric: Metric, sql: str, *tables: Table, zeros: tuple[str, ...] = ()) -> Figure:
    return Figure(tables=tables, ask=partial(_by_label, metric, sql, tables, zeros))


FIGURES = (
    Figure(tables=(PROFILES,), ask=partial(_row_count, names.MEMBERS, PROFILES)),
    Figure(tables=(PROFILES, COVERAGE, RUNS), ask=_stale),
    _by_sql(names.CATALOG_ENTRIES, _ENTRIES, CATALOG, zeros=STATUSES),
    _by_sql(names.PUBLISHED_LABELS, _LABELS, LABELS, CATALOG, zeros=CATEGORIES),
    Figure(tables=(JUDGMENTS,), ask=partial(_row_count, names.JUDGMENTS_STORED, JUDGMENTS)),
    *(Figure(tables=(table,), ask=partial(_files, table)) for table in dict.fromkeys((*UPSTREAM_TABLES, *RUN_TABLES))),
)
