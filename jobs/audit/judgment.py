"""The judgment behind a label or a rejection."""

import json
from datetime import datetime
from typing import Any

from jobs.table_reader import Reader, equals, literal
from schemas.judgments import JUDGMENTS


def judgment_of(
    reader: Reader,
    scorer_id: str,
    query_hash: str,
    item_hash: str,
    *,
    judged_run_id: str | None = None,
    until: datetime | None = None,
) -> dict[str, Any] | None:
    """Return the judgment of a pair that readers use, or None.

    Args:
        judged_run_id: take that run's, which lets files of other runs be skipped.
        until: leave out what was judged later.
    """
    where = equals(scorer_id=scorer_id, query_hash=query_hash, item_hash=item_hash)
    where += f" AND {equals(run_id=judged_run_id)}" if judged_run_id else ""
    where += f" AND judged_at <= TIMESTAMP {literal(until.isoformat())}" if until else ""
    sql = f"""
        SELECT margin, score, is_reference, generation, engine, run_id AS judged_run_id, judged_at FROM judgments
        WHERE {where} ORDER BY generation DESC, judged_at, run_id"""
    rows = reader.rows(sql, JUDGMENTS)
    usable = [row for row in rows if revocation_of(reader, row) is None]
    found = next(iter(usable or rows), None)
    return found and {
        **found,
        "engine": json.loads(found["engine"]),
        "judged_at": found["judged_at"].isoformat(),
        "revocation": revocation_of(reader, found),
    }


def revocation_of(reader: Reader, judgment: dict[str, Any]) -> dict[str, Any] | None:
    """Return what revokes a judgment, or None: nothing does yet."""
    return None
