"""Two versions of a catalog, compared by SQL over Delta, against the rules entry by entry."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.catalog_changes import changed_entries, retired_only_since
from jobs.errors import MissingRequirementError
from jobs.rules.catalog import EntryState, entry_changes, opens_no_slot
from jobs.table_admin import create_missing, current_version
from jobs.table_path import table_path
from schemas.catalog import CATALOG

ROWS = st.tuples(
    st.sampled_from(["q1", "q2", "q3", "q4"]),
    st.sampled_from(["skill", "licence"]),
    st.sampled_from(["nursing", "welding", " ", None]),
    st.sampled_from(["active", "active", "retired"]),
)
Catalog = list[tuple[str, str, str | None, str]]


def write(root: Path, *catalogs: Catalog) -> int:
    """Write one version after the other; returns the last one's number."""
    create_missing(root, CATALOG)
    for rows in catalogs:
        names = ("qualification_id", "category", "text", "status")
        content = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], CATALOG.columns)
        write_deltalake(table_path(root, CATALOG), content, mode="overwrite")
    return current_version(root, CATALOG)


def states(rows: Catalog) -> dict[str, EntryState]:
    found = {}
    for key in {row[0] for row in rows}:
        own = [row for row in rows if row[0] == key]
        texts = [row[2] for row in own if row[2] is not None]
        found[key] = EntryState(len(own), max(row[1] for row in own), max(texts, default=None), max(r[3] for r in own))
    return found


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROWS, max_size=6), st.lists(ROWS, max_size=6))
def test_entries_change_alike_by_sql_and_by_rule(tmp_path: Path, then: Catalog, now: Catalog) -> None:
    version = write(tmp_path, then, now)
    before, after = states(then), states(now)
    expected = {key: entry_changes(before.get(key), after.get(key)) for key in {*before, *after}}
    found = {entry.qualification_id: entry.changes for entry in changed_entries(tmp_path, version - 1, version)}
    assert found == {key: changes for key, changes in expected.items() if changes}
    only_went = all(opens_no_slot(changes) for changes in expected.values())
    assert retired_only_since(tmp_path, [version - 1, version], version) == [version - 1] * only_went + [version]


ENTRY = EntryState(1, "skill", "nursing", "active")


@pytest.mark.parametrize(
    ("then", "now", "changes"),
    [
        (None, ENTRY, ("added",)),
        (ENTRY, None, ("removed",)),
        (ENTRY, ENTRY._replace(status="retired"), ("retired",)),
        (ENTRY._replace(status="retired"), ENTRY, ("added",)),
        (ENTRY, ENTRY._replace(text="nursing care"), ("text_changed",)),
        (ENTRY, ENTRY._replace(category="licence"), ("category_changed",)),
        (ENTRY, ENTRY._replace(text="x", category="licence"), ("text_changed", "category_changed")),
        (ENTRY, ENTRY._replace(rows=2), ("removed",)),
        (ENTRY._replace(rows=2), ENTRY, ("added",)),
        (None, ENTRY._replace(status="retired"), ()),
    ],
)
def test_what_happened_to_an_entry(then: EntryState | None, now: EntryState | None, changes: tuple[str, ...]) -> None:
    assert entry_changes(then, now) == changes


def test_entries_that_went_stand_before_new_ones_and_alike_by_text(tmp_path: Path) -> None:
    gone: Catalog = [("q1", "skill", "Welding", "active"), ("q2", "skill", "nursing", "active")]
    new: Catalog = [("q0", "skill", "baking", "active")]
    both: Catalog = [("q3", "skill", "sewing", "active")]
    version = write(tmp_path, [*gone, *both], [*new, ("q3", "skill", "to sew", "active")])
    found = [entry.qualification_id for entry in changed_entries(tmp_path, version - 1, version)]
    assert found == ["q2", "q1", "q3", "q0"]


def test_a_version_that_is_gone_is_named_and_makes_nobody_keep_candidates(tmp_path: Path) -> None:
    version = write(tmp_path, [("q1", "skill", "nursing", "active")], [("q1", "skill", "nursing", "retired")])
    for file in (tmp_path / "catalog").glob("*.parquet"):
        file.unlink()
    with pytest.raises(MissingRequirementError, match=f"catalog version {version - 1} can't be read"):
        changed_entries(tmp_path, version - 1, version)
    with pytest.raises(MissingRequirementError, match="catalog version 99 can't be read"):
        changed_entries(tmp_path, 99, version)
    assert retired_only_since(tmp_path, [version - 1], version) == []
