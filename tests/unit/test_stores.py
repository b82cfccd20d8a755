"""Nothing is kept in a place that the operator's table of stores does not name."""

import re
from pathlib import Path

from jobs.maintain_tables import STAGING_PREFIXES
from jobs.stores_page import stores_page
from schemas import every
from schemas.stores import STORES
from schemas.table import Table

CHECKOUT = Path(__file__).resolve().parents[2]
PLACE = re.compile(r"""\b(home|staging)(?:_root)? / f?["']([\w.-]+)""")


def named_in_code() -> set[str]:
    """Every folder that the code names under the deployment's home or the staging root; a benchmark has its own."""
    files = [path for part in ("jobs", "mis_scoring", "dags") for path in (CHECKOUT / part).rglob("*.py")]
    sources = [path.read_text() for path in files if not path.name.startswith("bench_")]
    found = {match.groups() for source in sources for match in PLACE.finditer(source)}
    return {name if root == "home" else f"staging/{name}" for root, name in found}


def test_the_page_is_what_the_schemas_say() -> None:
    page = (CHECKOUT / "docs" / "stores.md").read_text()
    assert page == stores_page(), "write it again: python -m jobs.stores_page > docs/stores.md"


def test_every_table_has_its_line() -> None:
    schemas = {path.stem for path in (CHECKOUT / "schemas").glob("*.py")} - {"__init__", "every", "stores", "table"}
    tables = {table.name for table in vars(every).values() if isinstance(table, Table)}
    assert tables == schemas
    assert all(f"| `{name}` |" in stores_page() for name in tables)


def test_every_folder_that_the_code_makes_has_its_line() -> None:
    named = named_in_code()
    assert {"tables", "reports", "staging/scores", "staging/retrieval", "airflow"} <= named
    assert named - {"tables", "staging"} <= {store.where for store in STORES}


def test_staging_that_holds_people_is_removed_by_maintenance() -> None:
    personal = {s.where for s in STORES if s.where.startswith("staging/") and s.personal != "none"}
    assert personal == {f"staging/{prefix.split('/')[0]}" for prefix in STAGING_PREFIXES}
