"""The version of a catalog by content: two tables with the same entries have the same one, whatever their history."""

import hashlib
from pathlib import Path

import pyarrow as pa
from deltalake import QueryBuilder

from jobs.table_version import open_version
from mis_scoring.core.identity import canonical_json
from schemas.catalog import CATALOG


def catalog_version_of(root: Path, delta_version: int) -> str:
    """Return the digest of all rows of `catalog` at a Delta version.

    Rows are ordered by their whole content, so that neither files nor commits matter. Streams; the sort may spill.
    """
    names = sorted(CATALOG.columns.names)
    table = open_version(root, CATALOG, delta_version)
    rows = (
        QueryBuilder()
        .register(CATALOG.name, table)
        .execute(f"SELECT * FROM {CATALOG.name} ORDER BY {', '.join(names)}")
    )
    found = hashlib.sha256()
    for batch in rows:
        for row in pa.record_batch(batch).select(names).to_pylist():
            found.update(canonical_json(row).encode() + b"\n")
    return found.hexdigest()
