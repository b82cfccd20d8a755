"""All that is known of one pair: its state, and the lineage from texts to the decision."""

from dataclasses import dataclass
from typing import Any

from jobs.audit.artifact import ArtifactContent, artifact_of
from jobs.audit.coverage import MemberCoverage, coverage_line, coverage_of
from jobs.audit.finding import Finding, find
from jobs.audit.hashes import PairHashes, hashes_in_run, hashes_of_label
from jobs.audit.judgment import judgment_of
from jobs.audit.moment import Moment, moment_of
from jobs.audit.retention import taken_away
from jobs.audit.runs import cost_of, ledgers_of, pins_in, run_line
from jobs.audit.staleness import stale_member, stale_pair
from jobs.pins import Pins
from jobs.run_ledger import RunLedger
from jobs.settings import Settings
from jobs.table_reader import Reader, is_in
from jobs.tombstone import Tombstone, tombstone_of
from schemas.texts import TEXTS

_NOTHING = PairHashes(query_hash=None, item_hash=None)


@dataclass(frozen=True, kw_only=True)
class _Sources:
    """What was read to answer."""

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


def audit_label(
    settings: Settings, member_id: str, qualification_id: str, *, as_of: str | None = None
) -> dict[str, Any]:
    """Return the state of a pair with its evidence; None, or an empty list, where something is not known.

    Args:
        as_of: a published run, or a time as ISO 8601; None: now.
    Returns:
        member_id, qualification_id, as_of, state, reason, is_stale, stale_reasons; score, margin, threshold, rank,
        similarity, round; judgment, coverage, runs, profile, qualification, artifact, cost; taken_away: what retention
        or an erasure removed, one sentence each.
    Raises:
        DataError: `as_of` is neither a published run nor a time.
    """
    reader = Reader(settings.tables)
    sources = _read(reader, settings, moment_of(reader, as_of), member_id, qualification_id)
    reasons = _stale(reader, sources, member_id)
    return {
        "member_id": member_id,
        "qualification_id": qualification_id,
        "as_of": sources.moment.as_dict(),
        "state": sources.found.state,
        "reason": sources.found.reason,
        "is_stale": None if reasons is None else bool(reasons),
        "stale_reasons": reasons or [],
        **_decision(sources),
        "judgment": sources.judgment,
        "coverage": coverage_line(sources.covered.stands),
        "runs": _runs(sources),
        **_versions(sources),
        "artifact": sources.artifact.as_dict(sources.pins) if sources.pins else None,
        "cost": _cost(settings, sources),
        "erasure": sources.tombstone and sources.tombstone.as_dict(qualification_id),
        "taken_away": list(taken_away(sources.covered, sources.found, sources.hashes, sources.judgment, sources.texts)),
    }


def _read(reader: Reader, settings: Settings, moment: Moment, member_id: str, qualification_id: str) -> _Sources:
    covered = coverage_of(reader, moment, member_id)
    tombstone = tombstone_of(reader, member_id)
    found = find(reader, moment, covered, member_id, qualification_id, tombstone=tombstone)
    ledgers = ledgers_of(reader, _run_ids(covered, found))
    decided_by = found.label["published_run_id"] if found.label else covered.stands and covered.stands["run_id"]
    pins = pins_in(ledgers.get(decided_by)) if decided_by else None
    artifact = artifact_of(settings, pins) if pins else ArtifactContent(content=None)
    hashes, judgment = _judged(reader, moment, covered, found, qualification_id, artifact)
    if judgment is not None and judgment["judged_run_id"] not in ledgers:
        ledgers |= ledgers_of(reader, {judgment["judged_run_id"]})
    return _Sources(
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


def _run_ids(covered: MemberCoverage, found: Finding) -> set[str]:
    of_label = ("judged_run_id", "published_run_id", "since_run_id")
    ids = {found.label[name] for name in of_label} if found.label else set()
    return ids | ({covered.stands["run_id"]} if covered.stands else set())


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
        scorer_id, judged_run_id, until = stands["scorer_id"], None, moment.publications[stands["run_id"]].at
    else:
        return _NOTHING, None
    if hashes.query_hash is None or hashes.item_hash is None:
        return hashes, None
    pair = (scorer_id, hashes.query_hash, hashes.item_hash)
    return hashes, judgment_of(reader, *pair, judged_run_id=judged_run_id, until=until)


def _stale(reader: Reader, sources: _Sources, member_id: str) -> list[dict[str, str]] | None:
    """What has moved since; None for an earlier moment, or a pair that no run has covered."""
    if not sources.moment.is_now or sources.covered.stands is None:
        return None
    layout = sources.artifact.layout
    found = sources.found
    of_pair = stale_pair(found.entry, found.label, layout) if found.label else []
    return [*stale_member(reader, sources.moment, sources.covered, member_id), *of_pair]


def _decision(sources: _Sources) -> dict[str, Any]:
    label, judgment = sources.found.label or {}, sources.judgment or {}
    candidate, pins = sources.found.candidate or {}, sources.pins
    rank = label.get("rank", candidate.get("rank"))
    is_judged = sources.found.state in ("accepted", "rejected")
    return {
        "score": label.get("score", judgment.get("score")),
        "margin": judgment.get("margin"),
        "threshold": label.get("threshold", pins.threshold if pins and is_judged else None),
        "rank": rank,
        "similarity": candidate.get("similarity"),
        "round": label.get("round", rank // pins.candidates_per_round if pins and rank is not None else None),
    }


def _runs(sources: _Sources) -> dict[str, Any]:
    """Who judged, published and last confirmed the pair's state."""
    label, stands = sources.found.label or {}, sources.covered.stands or {}
    judged = label.get("judged_run_id") or (sources.judgment or {}).get("judged_run_id")
    ids = {
        "judged": judged,
        "published": label.get("published_run_id"),
        "since": label.get("since_run_id"),
        "confirmed": stands.get("run_id"),
    }
    return {role: run_line(run_id, sources.ledgers) for role, run_id in ids.items()}


def _kept_texts(reader: Reader, hashes: PairHashes) -> dict[str, str]:
    wanted = {one for one in (hashes.query_hash, hashes.item_hash) if one is not None}
    rows = reader.rows(f"SELECT text_hash, text FROM texts WHERE {is_in('text_hash', wanted)}", TEXTS) if wanted else []
    return {row["text_hash"]: row["text"] for row in rows}


def _versions(sources: _Sources) -> dict[str, Any]:
    """Which profile and catalog it was, with the texts that were judged."""
    label, stands, hashes = sources.found.label or {}, sources.covered.stands or {}, sources.hashes
    entry = sources.found.entry or {}
    return {
        "profile": {
            "profile_version": label.get("profile_version", stands.get("profile_version")),
            "profile_hash": stands.get("profile_hash"),
            "query_hash": hashes.query_hash,
            "query_text": sources.texts.get(hashes.query_hash or ""),
        },
        "qualification": {
            "category": entry.get("category"),
            "status": entry.get("status"),
            "catalog_version": label.get("catalog_version", stands.get("catalog_version")),
            "item_hash": hashes.item_hash,
            "item_text": sources.texts.get(hashes.item_hash or ""),
        },
    }


def _cost(settings: Settings, sources: _Sources) -> dict[str, Any] | None:
    judged = sources.judgment and sources.ledgers.get(sources.judgment["judged_run_id"])
    return cost_of(judged, settings.engines_usd_per_hour)
