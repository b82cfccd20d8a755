"""The table of stores for operators: `python -m jobs.stores_page > docs/stores.md` writes the page again.

A test compares the page with this, so that a new table or folder without its line is noticed.
"""

import sys
from collections.abc import Iterable

from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.stores import STORES
from schemas.table import Table

_HEAD = """# What is kept where, and for how long

Written by `python -m jobs.stores_page > docs/stores.md` from `schemas/`. *Personal* says what a place holds of a
person: `texts` they wrote, `vectors` or `hashes` of those, `ids` of members with what was found out about them, or
`none`.

`maintain_tables` is the job of the DAG `table_maintenance`. It counts a table's days from a run's last event. Removed
rows and replaced files stay on disk for SEMLABEL_VACUUM_HOURS more (168), so that a run which pinned an older version
of a table goes on; a run that is held keeps the versions that it pinned.

"""

_FOOT = """
**Erasing one member** is `semlabel forget MEMBER` ([audit.md](audit.md)): their rows in every table marked `texts`,
`vectors` or `ids`; in `texts` and `embeddings` those of their query and sections, by hash; every file on disk that held
them, also one that no table version names any more; what lies in staging, and in work folders given by `--work`.
`erasures` keeps hashes and decisions. Upstream tables are their source's to clean, but for `reference`. Delta's log
names no text; it may name an id until Delta drops the entry. Lineage, metrics, reports and the ledger hold neither a
text nor a member's id; an error in a task's log may name an id.
"""


def stores_page() -> str:
    """Return the page as Markdown."""
    tables = [_table_row(table) for table in dict.fromkeys((*UPSTREAM_TABLES, *RUN_TABLES))]
    stores = [(f"`{store.where}`", store.holds, store.personal, store.kept, store.deleted_by) for store in STORES]
    return (
        _HEAD
        + "## Tables, under `tables` (SEMLABEL_TABLE_ROOT)\n\n"
        + _markdown(("table", "personal", "a row stays", "who deletes it"), tables)
        + "\n## Other places, under SEMLABEL_HOME\n\n"
        + _markdown(("where", "what", "personal", "stays", "who deletes it"), stores)
        + _FOOT
    )


def _table_row(table: Table) -> tuple[str, ...]:
    if table.kept_days is not None:
        deleted_by = "maintain_tables"
    elif table in UPSTREAM_TABLES:
        deleted_by = "who writes the table"
    elif table.name == "labels":
        deleted_by = "publish_labels"
    else:
        deleted_by = "nobody" if table.personal == "none" else "nobody, but for an erasure"
    return f"`{table.name}`", table.personal, table.kept, deleted_by


def _markdown(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(stores_page())
