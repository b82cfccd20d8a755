"""The judgment behind a label or a rejection."""

import json
from datetime import datetime
from typing import Any

from jobs.revocations import ORDER_OF_JUDGMENTS, read_revocations
from jobs.rules.revocation import Judged, withdrawn_at
from jobs.table_reader import Reader, equals, literal
from mis_scoring.core.identity import text_hash
from schemas.judgments import JUDGMENTS
from schemas.revocations import REVOCATIONS


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

    Beside the columns of `judgments` it has `fingerprint`, the digest of `engine`, and `revocation`.

    Args:
        judged_run_id: take that run's, which lets files of other runs be skipped.
        until: leave out what was judged or revoked later, as a run did that published then.
    """
    where = equals(scorer_id=scorer_id, query_hash=query_hash, item_hash=item_hash)
    where += f" AND {equals(run_id=judged_run_id)}" if judged_run_id else ""
    where += f" AND judged_at <= TIMESTAMP {literal(until.isoformat())}" if until else ""
    sql = f"""
        SELECT margin, score, is_reference, generation, engine, run_id AS judged_run_id, judged_at FROM judgments
        WHERE {where} ORDER BY {ORDER_OF_JUDGMENTS}"""
    rows = reader.rows(sql, JUDGMENTS)
    usable = [row for row in rows if revocation_of(reader, row, until=until) is None]
    found = next(iter(usable or rows), None)
    return found and {
        **found,
        "engine": json.loads(found["engine"]),
        "fingerprint": text_hash(found["engine"]),
        "judged_at": found["judged_at"].isoformat(),
        "revocation": revocation_of(reader, found),
    }


def revocation_of(reader: Reader, judgment: dict[str, Any], *, until: datetime | None = None) -> dict[str, Any] | None:
    """Return the revocation_id, reason and time of what has withdrawn a judgment; None where it may be used."""
    judged = Judged(engine=judgment["engine"], run_id=judgment["judged_run_id"], judged_at=judgment["judged_at"])
    fits = [one for one in read_revocations(reader.root, as_of=until) if withdrawn_at(judged, [one])]
    if not fits:
        return None
    where = equals(revocation_id=fits[-1].revocation_id)
    found = reader.rows(f"SELECT revocation_id, reason, at FROM revocations WHERE {where}", REVOCATIONS)[0]
    return found | {"at": found["at"].isoformat()}
