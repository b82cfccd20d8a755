"""Bring the sample's catalog to a later version of ESCO, as a source would: one commit that adds, changes and retires.

So that a real update can be planned, priced and run. By delta-rs, without Spark; holds the catalog.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from jobs.domain import OWN_DATA, domain_of, set_domain
from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.sample.esco import Concept, read_esco
from jobs.sample.esco_update import LATER_ESCO_FILE, EscoUpdate, esco_update, read_later_texts
from jobs.settings import Settings
from jobs.table_admin import current_version, require
from jobs.table_path import table_path
from jobs.table_reader import literal, query
from jobs.write_sample import ESCO_CSV
from schemas.catalog import CATALOG
from schemas.reference import REFERENCE, UNKNOWN

UPDATED_DOMAIN = "ESCO, a later version than 1.1.1"
_SKILL = "skill:"

Row = dict[str, Any]


def update_sample_catalog(settings: Settings) -> dict[str, Any]:
    """Add, change and retire skills as a later version of ESCO does, and bring the known answers along.

    Returns:
        added, text_changed, retired; unread: skills left as they are, since their later label can't be told;
        catalog_delta_version.
    Raises:
        CheckFailedError: the catalog is no sample.
        MissingRequirementError: a table or a file of ESCO is not there.
    """
    require(settings.tables, CATALOG, REFERENCE)
    if domain_of(settings.tables, CATALOG) == OWN_DATA:
        raise CheckFailedError(f"catalog under {settings.tables} is no sample: load its update with `semlabel load`.")
    files = [settings.data_dir / name for name in (ESCO_CSV, LATER_ESCO_FILE)]
    if missing := [str(path) for path in files if not path.exists()]:
        raise MissingRequirementError(f"{', '.join(missing)} missing: run `make setup`, or set SEMLABEL_DATA_DIR.")
    esco = read_esco(files[0])
    before = {row["qualification_id"]: row for row in query(settings.tables, "SELECT * FROM catalog", CATALOG)}
    concepts: list[Concept] = [c for key, c in esco.concepts.items() if f"{_SKILL}{key}" in before]
    update = esco_update(esco, read_later_texts(files[1]), concepts)
    rows = changed_rows(before, update)
    if rows:
        _merge(settings, rows)
        _bring_answers_along(settings, before, rows)
        set_domain(settings.tables, CATALOG, UPDATED_DOMAIN)
    retired = sum(row["status"] == "retired" for row in rows)
    added = sum(row["qualification_id"] not in before for row in rows)
    return {
        "added": added,
        "text_changed": len(rows) - added - retired,
        "retired": retired,
        "unread": update.unread,
        "catalog_delta_version": current_version(settings.tables, CATALOG),
    }


def changed_rows(before: Mapping[str, Row], update: EscoUpdate) -> list[Row]:
    """Return the rows of `catalog` that the update adds or changes; none when it has been made already."""
    new = [_row(key, label) for key, label in {**update.renamed, **update.added}.items()]
    gone = [before[f"{_SKILL}{key}"] | {"status": "retired"} for key in update.retired]
    return [row for row in [*new, *gone] if row != before.get(row["qualification_id"])]


def _row(key: str, label: str) -> Row:
    return {"qualification_id": f"{_SKILL}{key}", "category": "skill", "text": label, "status": "active"}


def _merge(settings: Settings, rows: list[Row]) -> None:
    source = pa.Table.from_pylist(rows, CATALOG.columns)
    merge = DeltaTable(table_path(settings.tables, CATALOG)).merge(
        source, "t.qualification_id = s.qualification_id", source_alias="s", target_alias="t"
    )
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _bring_answers_along(settings: Settings, before: Mapping[str, Row], rows: list[Row]) -> None:
    """Drop the answers of retired skills; of new ones no answer is known, for any member."""
    path = table_path(settings.tables, REFERENCE)
    retired = [row["qualification_id"] for row in rows if row["status"] == "retired"]
    if retired:
        DeltaTable(path).delete(f"qualification_id IN ({', '.join(map(literal, retired))})")
    added = [row["qualification_id"] for row in rows if row["qualification_id"] not in before]
    if added:
        values = ", ".join(f"({literal(key)})" for key in added)
        sql = f"""
            SELECT m.member_id, q.qualification_id, '{UNKNOWN}' AS answer
            FROM (SELECT DISTINCT member_id FROM reference) m CROSS JOIN (VALUES {values}) q(qualification_id)"""
        answers = QueryBuilder().register(REFERENCE.name, DeltaTable(path)).execute(sql)
        write_deltalake(path, answers, mode="append")
