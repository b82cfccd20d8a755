"""The rows behind the audit of one pair: state, judgment, texts, runs and the labeler, each read once."""

from dataclasses import dataclass
from typing import Any

from jobs.audit.artifact import ArtifactContent, artifact_of
from jobs.audit.coverage import MemberCoverage, coverage_of, evaluated_by
from jobs.audit.finding import Finding, find
from jobs.audit.hashes import PairHashes, hashes_in_run, hashes_of_label
from jobs.audit.judgment import judgment_of
from jobs.audit.moment import Moment
from jobs.audit.runs import ledgers_of, pins_in
from jobs.pins import Pins
from jobs.run_ledger import RunLedger
from jobs.settings import Settings
from jobs.table_reader import Reader, is_in
from jobs.tombstone import Tombstone, tombstone_of
from schemas.texts import TEXTS

_NOTHING = PairHashes(query_hash=None, item_hash=None)


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What was read to answer.

    Attributes:
        pins: of the run that decided: the label's publisher, else the one that the member's labels stand on.
        texts: of the hashes, by hash, those that are kept.
    """

    moment: Moment
    covered: MemberCoverage
    found: Finding
    hashes: PairHashes
    judgment: dict[str, Any] | None
    ledgers: dict[str, RunLedger]
    pins: Pins | None
    artifact: ArtifactContent
    tombstone: Tombstone | None
    texts: dict[str, str]


def read_sources(reader: Reader, settings: Settings, moment: Moment, member_id: str, qualification_id: str) -> Sources:
    """Read all that is known of a pair at a moment."""
    covered = coverage_of(reader, moment, member_id)
    tombstone = tombstone_of(reader, member_id)
    found = find(reader, moment, covered, member_id, qualification_id, tombstone=tombstone)
    ledgers = ledgers_of(reader, _run_ids(moment, covered, found))
    decided_by = found.label["published_run_id"] if found.label else covered.stands and evaluated_by(covered.stands)
    pins = pins_in(ledgers.get(decided_by)) if decided_by else None
    artifact = artifact_of(settings, pins) if pins else ArtifactContent(content=None)
    hashes, judgment = _judged(reader, moment, covered, found, qualification_id, artifact)
    if judgment is not None and judgment["judged_run_id"] not in ledgers:
        ledgers |= ledgers_of(reader, {judgment["judged_run_id"]})
    return Sources(
        moment=moment,
        covered=covered,
        found=found,
        hashes=hashes,
        judgment=judgment,
        ledgers=ledgers,
        pins=pins,
        artifact=artifact,
        tombstone=tombstone,
        texts=_kept_texts(reader, hashes),
    )


def _run_ids(moment: Moment, covered: MemberCoverage, found: Finding) -> set[str]:
    of_label = ("judged_run_id", "published_run_id", "since_run_id")
    ids = {found.label[name] for name in of_label} if found.label else set()
    ids |= {covered.stands["run_id"], evaluated_by(covered.stands)} if covered.stands else set()
    return ids | ({moment.last.run_id} if moment.last else set())


def _judged(
    reader: Reader,
    moment: Moment,
    covered: MemberCoverage,
    found: Finding,
    qualification_id: str,
    artifact: ArtifactContent,
) -> tuple[PairHashes, dict[str, Any] | None]:
    if found.label is not None:
        row = found.label
        hashes, scorer_id, judged_run_id, until = hashes_of_label(row), row["scorer_id"], row["judged_run_id"], None
    elif found.state == "rejected" and covered.stands is not None:
        stands = covered.stands
        hashes = hashes_in_run(reader, stands, found.entry, qualification_id, artifact.layout)
        scorer_id, judged_run_id, until = stands["scorer_id"], None, moment.publications[evaluated_by(stands)].at
    else:
        return _NOTHING, None
    if hashes.query_hash is None or hashes.item_hash is None:
        return hashes, None
    pair = (scorer_id, hashes.query_hash, hashes.item_hash)
    return hashes, judgment_of(reader, *pair, judged_run_id=judged_run_id, until=until)


def _kept_texts(reader: Reader, hashes: PairHashes) -> dict[str, str]:
    wanted = {one for one in (hashes.query_hash, hashes.item_hash) if one is not None}
    rows = reader.rows(f"SELECT text_hash, text FROM texts WHERE {is_in('text_hash', wanted)}", TEXTS) if wanted else []
    return {row["text_hash"]: row["text"] for row in rows}
