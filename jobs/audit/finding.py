"""Which state a pair is in at a moment, and the rows that say so.

accepted: published. rejected: judged under the threshold. not_evaluated: beyond K, after an early stop, quarantined, or
no run yet. not_in_catalog: the catalog has no such active entry. unknown: retention took away what would tell. erased:
the member was.
"""

from dataclasses import dataclass
from typing import Any, Literal

from jobs.audit.changes import changes_of, label_rows
from jobs.audit.coverage import MemberCoverage, evaluated_by, left_out_reason
from jobs.audit.moment import Moment
from jobs.table_reader import Reader, equals
from jobs.tombstone import Tombstone, reason_of
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES
from schemas.quarantine import QUARANTINE

State = Literal["accepted", "rejected", "not_evaluated", "not_in_catalog", "unknown", "erased"]
_ENTRY_GONE = ("retired", "catalog_entry_removed")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A pair's state.

    Attributes:
        reason: one sentence.
        label: the row of `labels`, of an accepted pair.
        candidate: rank and similarity of the pair in the run that the member's labels stand on.
        entry: the row of `catalog` as it is now.
    """

    state: State
    reason: str
    label: dict[str, Any] | None = None
    candidate: dict[str, Any] | None = None
    entry: dict[str, Any] | None = None


def find(
    reader: Reader,
    moment: Moment,
    covered: MemberCoverage,
    member_id: str,
    qualification_id: str,
    *,
    tombstone: Tombstone | None,
) -> Finding:
    """Return the state of a pair."""
    if tombstone is not None:
        return Finding(state="erased", reason=reason_of(tombstone))
    entry = reader.one(f"SELECT * FROM catalog WHERE {equals(qualification_id=qualification_id)}", CATALOG)
    label = next(iter(label_rows(reader, moment, member_id, qualification_id)), None)
    state: State
    runs = [evaluated_by(row) for row in (covered.stands,) if row] + ([label["published_run_id"]] if label else [])
    candidate = _candidate(reader, runs, member_id, qualification_id)
    if label is not None:
        state, reason = "accepted", "score >= threshold"
    elif moment.is_now and (entry is None or entry["status"] != "active"):
        state, reason = "not_in_catalog", "no such entry" if entry is None else f"its status is {entry['status']}"
    elif covered.stands is None:
        state, reason = "not_evaluated", _uncovered(reader, moment, covered, member_id)
    elif candidate is not None:
        slot = _empty_slot(reader, moment, covered.stands, member_id, qualification_id)
        state, reason = slot or _by_rank(candidate, covered.stands)
    else:
        state, reason = _without_candidate(reader, moment, covered.stands, entry, member_id, qualification_id)
    return Finding(state=state, reason=reason, label=label, candidate=candidate, entry=entry)


def _candidate(reader: Reader, run_ids: list[str], member_id: str, qualification_id: str) -> dict[str, Any] | None:
    for run_id in run_ids:
        where = equals(run_id=run_id, member_id=member_id, qualification_id=qualification_id)
        found = reader.one(f"SELECT rank, similarity FROM candidates WHERE {where}", CANDIDATES)
        if found is not None:
            return found
    return None


def _empty_slot(
    reader: Reader, moment: Moment, stands: dict[str, Any], member_id: str, qualification_id: str
) -> tuple[State, str] | None:
    """Return what an entry is that was retired after its retrieval: its slot was kept, and nothing was judged in it."""
    retrieved = stands["retrieval_delta_version"]
    if retrieved is None or retrieved == stands["catalog_delta_version"]:
        return None
    return _removed_entry(reader, moment, member_id, qualification_id)


def _removed_entry(reader: Reader, moment: Moment, member_id: str, qualification_id: str) -> tuple[State, str] | None:
    changes = changes_of(reader, moment, member_id, qualification_id)
    if not changes or changes[-1]["reason"] not in _ENTRY_GONE:
        return None
    return "not_in_catalog", f"removed by {changes[-1]['run_id']}: {changes[-1]['reason']}"


def _by_rank(candidate: dict[str, Any], stands: dict[str, Any]) -> tuple[State, str]:
    rank, rounds = candidate["rank"], stands["rounds"]
    if rank < stands["depth"]:
        return "rejected", "score < threshold"
    why = f"stopped early ({stands['stop_reason']}) after {rounds} round(s), before rank {rank}"
    return "not_evaluated", why


def _without_candidate(
    reader: Reader,
    moment: Moment,
    stands: dict[str, Any],
    entry: dict[str, Any] | None,
    member_id: str,
    qualification_id: str,
) -> tuple[State, str]:
    if stands["stop_reason"] == "member_removed":
        return "not_evaluated", "the member is gone from profiles"
    if stands["stop_reason"] == "rolled_back":
        return "not_evaluated", f"{stands['run_id']} took the member back to before the first run that covered it"
    removed = _removed_entry(reader, moment, member_id, qualification_id)
    if removed is not None:
        return removed
    if entry is None:
        return "not_in_catalog", "no such entry now; the catalog of an earlier version is not kept"
    if stands["candidates"] and not _has_candidates(reader, evaluated_by(stands), member_id):
        days = CANDIDATES.kept_days
        return "unknown", f"no label; the candidates of {evaluated_by(stands)} were kept {days} days, and are gone"
    aside = _entry_set_aside(reader, evaluated_by(stands), qualification_id)
    if aside is not None:
        return "not_evaluated", f"{evaluated_by(stands)} quarantined the entry: {aside}"
    depth = stands["candidates_per_member"]
    return "not_evaluated", f"not among the {depth} candidates that retrieval proposed"


def _entry_set_aside(reader: Reader, run_id: str, qualification_id: str) -> str | None:
    where = equals(run_id=run_id, key=qualification_id) + " AND \"table\" = 'catalog'"
    found = reader.one(f"SELECT reason FROM quarantine WHERE {where} LIMIT 1", QUARANTINE)
    return None if found is None else str(found["reason"])


def _has_candidates(reader: Reader, run_id: str, member_id: str) -> bool:
    where = equals(run_id=run_id, member_id=member_id)
    return reader.one(f"SELECT rank FROM candidates WHERE {where} LIMIT 1", CANDIDATES) is not None


def _uncovered(reader: Reader, moment: Moment, covered: MemberCoverage, member_id: str) -> str:
    if covered.left_out is not None:
        return left_out_reason(reader, covered.left_out, member_id)
    known = reader.one(f"SELECT 1 AS one FROM profiles WHERE {equals(member_id=member_id)}", PROFILES)
    if not known and moment.is_now:
        return "no such member in profiles"
    return "no run has covered this member yet" if moment.is_now else "no run had covered this member by then"
