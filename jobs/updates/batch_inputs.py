"""What a run reads of a batch's members, by delta-rs: pinned profiles, published coverage, revocations, erasures.

Reads the files whose range of ids or hashes holds one of the members; the log alone leaves out the others.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path

from jobs.ledger import publications
from jobs.pins import Pins
from jobs.revocations import read_revocations
from jobs.rules.inputs import fault_of, is_blank
from jobs.rules.revocation import Judged, stands_on_revoked, withdrawn_at
from jobs.rules.standing import Covered, Published, published
from jobs.table_path import table_exists
from jobs.table_reader import is_in, query
from mis_scoring.core.identity import text_hash
from schemas.coverage import COVERAGE
from schemas.erasures import ERASURES
from schemas.judgments import JUDGMENTS
from schemas.profiles import PROFILES

_COVERED = tuple(field.name for field in fields(Covered) if field.name != "publication")


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """What a version of `profiles` has of a member.

    Attributes:
        version: the highest of several rows.
        fault: why it can't be used; None where it can.
    """

    text: str | None
    version: int | None
    fault: str | None

    @property
    def hash(self) -> str | None:
        """The hash of a text that can be used."""
        return None if self.fault is not None or self.text is None else text_hash(self.text)


def read_profiles(root: Path, pins: Pins, member_ids: Collection[str]) -> dict[str, ProfileRow]:
    """Return the members that the pinned version has."""
    sql = f"""
        SELECT member_id, count(*) AS n, max(profile_text) AS text, max(profile_version) AS version
        FROM profiles WHERE {is_in("member_id", set(member_ids))} GROUP BY member_id"""
    rows = query(root, sql, PROFILES, versions={PROFILES.name: pins.profiles_delta_version})
    return {
        row["member_id"]: ProfileRow(
            text=row["text"],
            version=row["version"],
            fault=fault_of("member_id", row["member_id"], "profile_text", row["text"], n_rows=row["n"]),
        )
        for row in rows
        if not is_blank(row["member_id"])
    }


def published_coverage(root: Path, member_ids: Collection[str]) -> dict[str, Published]:
    """Return what published runs have done for each of the members that one has covered."""
    took_effect = publications(root)
    columns = ", ".join(("member_id", *_COVERED))
    rows = query(root, f"SELECT {columns} FROM coverage WHERE {is_in('member_id', set(member_ids))}", COVERAGE)
    found: dict[str, list[Covered]] = {}
    for row in rows:
        if row["run_id"] in took_effect:
            covered = Covered(**{name: row[name] for name in _COVERED}, publication=took_effect[row["run_id"]])
            found.setdefault(row["member_id"], []).append(covered)
    return {member_id: published(rows) for member_id, rows in found.items()}


def erased_members(root: Path, member_ids: Collection[str]) -> set[str]:
    """Return those who were erased: no run takes them up, whatever the source sends."""
    if not table_exists(root, ERASURES):
        return set()
    hashes = {text_hash(member_id): member_id for member_id in member_ids}
    rows = query(root, f"SELECT member_hash FROM erasures WHERE {is_in('member_hash', set(hashes))}", ERASURES)
    return {hashes[row["member_hash"]] for row in rows}


def revoked_members(root: Path, pins: Pins, before: Mapping[str, Published]) -> set[str]:
    """Return the members whose labels stand on older pins than a revocation of a judgment of theirs."""
    revocations = read_revocations(root, as_of=datetime.fromisoformat(pins.pinned_at))
    if not revocations:
        return set()
    stands = {member: known.stands for member, known in before.items() if known.stands is not None}
    queries = _queries(root, stands)
    sql = f"SELECT * FROM judgments WHERE {is_in('query_hash', {query for _, query in queries.values()})}"
    withdrawn: dict[tuple[str, str], list[datetime | None]] = {}
    for row in query(root, sql, JUDGMENTS):
        source = Judged(engine=row["engine"], run_id=row["run_id"], judged_at=row["judged_at"])
        key = row["scorer_id"], row["query_hash"]
        withdrawn.setdefault(key, []).append(withdrawn_at(source, revocations))
    return {
        member for member, key in queries.items() if stands_on_revoked(stands[member].pinned_at, withdrawn.get(key, ()))
    }


def _queries(root: Path, stands: Mapping[str, Covered]) -> dict[str, tuple[str, str]]:
    """Return member -> (scorer, query) that the labels were judged by."""
    runs = {row.run_id for row in stands.values()}
    sql = f"""
        SELECT run_id, member_id, scorer_id, query_hash FROM coverage
        WHERE {is_in("run_id", runs)} AND {is_in("member_id", set(stands))} AND query_hash IS NOT NULL"""
    rows = query(root, sql, COVERAGE)
    return {
        row["member_id"]: (row["scorer_id"], row["query_hash"])
        for row in rows
        if stands[row["member_id"]].run_id == row["run_id"]
    }
