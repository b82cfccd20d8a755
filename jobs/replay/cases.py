"""Which decisions are made again, and all that they were made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.audit import audit_label
from jobs.errors import MissingRequirementError
from jobs.ledger import PUBLISHED
from jobs.settings import Settings
from jobs.table_reader import Reader, equals, is_in, literal
from mis_scoring.core.errors import DataError
from schemas.judgments import JUDGMENTS
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.runs import RUNS
from schemas.texts import TEXTS


@dataclass(frozen=True, kw_only=True)
class Case:
    """A decision on a pair.

    Attributes:
        pinned_by: the run whose pinned labeler made the decision.
        score: as published; None for a rejected pair, which publishes none.
        margin: of the judgment; None where none is kept.
        query_text, item_text: None where no text of the hash is kept.
    """

    member_id: str
    qualification_id: str
    is_accepted: bool
    pinned_by: str
    score: float | None
    query_hash: str
    item_hash: str
    query_text: str | None
    item_text: str | None
    margin: float | None
    judged_score: float | None


def case_of_pair(settings: Settings, member_id: str, qualification_id: str) -> Case:
    """Return the decision that stands on one pair, also of a rejected one.

    Raises:
        DataError: the pair was not judged, or its hashes are not known any more; says which.
    """
    found = audit_label(settings, member_id, qualification_id)
    profile, entry, judgment = found["profile"], found["qualification"], found["judgment"] or {}
    if profile["query_hash"] is None or entry["item_hash"] is None:
        why = "; ".join([found["reason"], *found["taken_away"]])
        raise DataError(f"{member_id} {qualification_id} is {found['state']} ({why}): there is no judgment to replay")
    is_accepted = found["state"] == "accepted"
    return Case(
        member_id=member_id,
        qualification_id=qualification_id,
        is_accepted=is_accepted,
        pinned_by=found["runs"]["published" if is_accepted else "confirmed"]["run_id"],
        score=found["score"] if is_accepted else None,
        query_hash=profile["query_hash"],
        item_hash=entry["item_hash"],
        query_text=profile["query_text"],
        item_text=entry["item_text"],
        margin=judgment.get("margin"),
        judged_score=judgment.get("score"),
    )


def cases_of_sample(
    settings: Settings, *, run_id: str | None, member_id: str | None, n_sample: int, seed: int
) -> list[Case]:
    """Return published labels, drawn by a hash of seed and pair, so that equal tables give the same.

    Args:
        run_id: of those that this published run added or revised, whether they still stand or not.
    Raises:
        DataError: there is no such published run.
        MissingRequirementError: there is no label to draw.
    """
    reader = Reader(settings.tables)
    if run_id is not None:
        _require_published(reader, run_id)
    rows = _drawn(reader, run_id, member_id, n_sample, seed)
    if not rows:
        of_run = "" if run_id is None else f" that {run_id} added or revised"
        of_member = "" if member_id is None else f" of member {member_id!r}"
        raise MissingRequirementError(
            f"No published label{of_member}{of_run} under {settings.tables}: there is nothing to replay. "
            "`semlabel runs` lists the runs, `semlabel audit MEMBER` a member's labels."
        )
    return _with_evidence(reader, rows)


def _drawn(reader: Reader, run_id: str | None, member_id: str | None, n_sample: int, seed: int) -> list[dict[str, Any]]:
    """Draw by the ids alone, which are a small part of a row, then take the rows."""
    where = equals(member_id=member_id) if member_id is not None else "true"
    order = f"ORDER BY md5(concat({literal(str(seed))}, ':', member_id, ':', qualification_id)) LIMIT {n_sample}"
    if run_id is not None:
        where += f" AND {equals(run_id=run_id)} AND change <> 'removed'"
    table, columns = (LABELS, "*") if run_id is None else (LABEL_CHANGES, "member_id, qualification_id, after")
    drawn = reader.rows(f"SELECT member_id, qualification_id FROM {table.name} WHERE {where} {order}", table)
    members, pairs = {row["member_id"] for row in drawn}, {_pair(row) for row in drawn}
    sql = f"SELECT {columns} FROM {table.name} WHERE {where} AND {is_in('member_id', members)}"
    kept = sorted((row for row in reader.rows(sql, table) if _pair(row) in pairs), key=_pair)
    return [row if run_id is None else row["after"] for row in kept]


def _pair(row: dict[str, Any]) -> tuple[str, str]:
    return row["member_id"], row["qualification_id"]


def _require_published(reader: Reader, run_id: str) -> None:
    sql = f"SELECT event FROM runs WHERE {equals(run_id=run_id, event=PUBLISHED)} LIMIT 1"
    if reader.one(sql, RUNS) is None:
        raise DataError(f"{run_id!r} is no published run: `semlabel runs` lists the runs.")


def _with_evidence(reader: Reader, rows: Sequence[dict[str, Any]]) -> list[Case]:
    hashes = {row[name] for row in rows for name in ("query_hash", "item_hash")}
    found = reader.rows(f"SELECT text_hash, text FROM texts WHERE {is_in('text_hash', hashes)}", TEXTS)
    texts = {row["text_hash"]: row["text"] for row in found}
    judged = _judgments(reader, rows)
    return [_case(row, texts, judged.get(_key(row, row["judged_run_id"]), {})) for row in rows]


def _judgments(reader: Reader, rows: Iterable[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    names = ("scorer_id", "query_hash", "item_hash")
    where = " AND ".join(is_in(name, {row[name] for row in rows}) for name in names)
    where += f" AND {is_in('run_id', {row['judged_run_id'] for row in rows})}"
    sql = f"SELECT {', '.join(names)}, run_id, margin, score FROM judgments WHERE {where} ORDER BY generation"
    return {_key(row, row["run_id"]): row for row in reader.rows(sql, JUDGMENTS)}


def _key(row: dict[str, Any], run_id: str) -> tuple[str, ...]:
    return row["scorer_id"], row["query_hash"], row["item_hash"], run_id


def _case(row: dict[str, Any], texts: dict[str, str], judgment: dict[str, Any]) -> Case:
    return Case(
        member_id=row["member_id"],
        qualification_id=row["qualification_id"],
        is_accepted=True,
        pinned_by=row["published_run_id"],
        score=row["score"],
        query_hash=row["query_hash"],
        item_hash=row["item_hash"],
        query_text=texts.get(row["query_hash"]),
        item_text=texts.get(row["item_hash"]),
        margin=judgment.get("margin"),
        judged_score=judgment.get("score"),
    )
