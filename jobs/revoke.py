"""Withdraw judgments that must not be used any more, and say beforehand what that concerns and may cost.

The judgments stay as facts; a row of `revocations` says which of them no reader takes. The next run of any kind has the
members in scope whose labels were made with one, and scores the withdrawn pairs again.
"""

import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.repair_price import repair_of
from jobs.rules.revocation import Revocation
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_reader import pins_of, query
from jobs.table_writer import append_rows
from mis_scoring.core.errors import DataError
from mis_scoring.core.identity import text_hash
from schemas.every import RUN_TABLES
from schemas.judgments import JUDGMENTS
from schemas.revocations import REVOCATIONS


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a person asks for; a judgment is withdrawn where all that is given fits.

    Attributes:
        fingerprint: of the engine: the JSON that the audit shows, or the start of its SHA-256.
        since, until: times of judging; until is now unless told, and never later.
    """

    fingerprint: str | None = None
    run_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    reason: str
    who: str


def revoke(settings: Settings, request: Request, *, is_dry: bool = False) -> dict[str, Any]:
    """Append the revocation, and return its id with what it concerns and what the repair may cost.

    Args:
        is_dry: say it and append nothing.
    Raises:
        DataError: the request names nothing, or a time that lies ahead.
        MissingRequirementError: no run has this id, or no engine this fingerprint; lists the engines that have judged.
        CheckFailedError: no judgment fits that is not withdrawn already.
    """
    root = settings.tables
    query(root, "SELECT 1 FROM judgments LIMIT 1", JUDGMENTS)  # before the first run there is nothing to create
    create_missing(root, *RUN_TABLES)
    one = _revocation(root, request)
    repair = repair_of(settings, one)
    if not repair["judgments"]:
        raise CheckFailedError("No judgment fits that is not withdrawn already: nothing was revoked.")
    if not is_dry:
        row = asdict(one) | {"reason": request.reason, "who": request.who}
        append_rows(root, REVOCATIONS, [row], transaction=one.revocation_id)
    return {"revocation_id": None if is_dry else one.revocation_id, **repair}


def _revocation(root: Path, request: Request) -> Revocation:
    now = datetime.now(UTC)
    _require_a_criterion(request, now)
    if request.run_id is not None:
        pins_of(root, request.run_id)
    return Revocation(
        revocation_id=f"revocation-{uuid.uuid4().hex[:12]}",
        fingerprint=None if request.fingerprint is None else _fingerprint(root, request.fingerprint),
        run_id=request.run_id,
        since=request.since,
        until=request.until or now,
        at=now,
    )


def _require_a_criterion(request: Request, now: datetime) -> None:
    if request.fingerprint is None and request.run_id is None and request.since is None:
        raise DataError("Name what to revoke: --fingerprint, --run or --since.")
    for name, at in (("--since", request.since), ("--until", request.until)):
        if at is not None and at > now:
            raise DataError(f"{name} {at.isoformat()} lies ahead: a revocation withdraws what was judged until now.")


def _fingerprint(root: Path, wanted: str) -> str:
    """Return the stored fingerprint that is meant."""
    engines = query(root, "SELECT engine, count(*) AS n FROM judgments GROUP BY engine ORDER BY n DESC", JUDGMENTS)
    fit = [row["engine"] for row in engines if row["engine"] == wanted or text_hash(row["engine"]).startswith(wanted)]
    if len(fit) == 1:
        return str(fit[0])
    known = "\n".join(f"  {text_hash(row['engine'])[:12]}  {row['n']} judgments  {row['engine']}" for row in engines)
    what = "No engine has" if not fit else "Several engines have"
    raise MissingRequirementError(f"{what} the fingerprint {wanted!r}. These have judged:\n{known}")
