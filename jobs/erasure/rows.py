"""Which rows of which table are a member's, and their removal; one commit a table."""

from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from jobs.erasure.traces import Traces
from jobs.table_path import table_path
from jobs.table_reader import Reader, is_in
from schemas.embeddings import EMBEDDINGS
from schemas.every import RUN_TABLES
from schemas.quarantine import QUARANTINE
from schemas.table import Table
from schemas.texts import TEXTS


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of a table by the values of one column."""

    table: Table
    column: str
    values: frozenset[str]

    @property
    def condition(self) -> str:
        """The rows as a condition of SQL."""
        return is_in(self.column, set(self.values))


def rows_of(traces: Traces) -> list[Rows]:
    """Return where a member's rows are: texts and vectors by hash, last, since the hashes are found by them."""
    member = frozenset({traces.member_id})
    by_id = [table for table in RUN_TABLES if "member_id" in table.columns.names]
    return [
        *(Rows(table=table, column="member_id", values=member) for table in by_id),
        Rows(table=QUARANTINE, column="key", values=member),
        Rows(table=EMBEDDINGS, column="text_hash", values=traces.section_hashes),
        Rows(table=TEXTS, column="text_hash", values=traces.query_hashes - traces.shared),
    ]


def count_rows(reader: Reader, rows: Rows) -> int:
    """Count the rows that are there."""
    found = reader.one(f"SELECT count(*) AS n FROM {rows.table.name} WHERE {rows.condition}", rows.table)
    return int(found["n"]) if found else 0


@retry(
    retry=retry_if_exception_type(CommitFailedError),
    stop=stop_after_attempt(20),
    wait=wait_random_exponential(max=5),
    reraise=True,
)
def delete_rows(root: Path, rows: Rows) -> None:
    """Remove the rows; a publisher that computed its changes before loses its race and computes them again."""
    DeltaTable(table_path(root, rows.table)).delete(rows.condition)
