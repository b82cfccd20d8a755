"""All that is known of one pair: its state, and the lineage from texts to the decision."""

from typing import Any

from jobs.audit.coverage import coverage_line
from jobs.audit.moment import moment_of
from jobs.audit.retention import taken_away
from jobs.audit.runs import cost_of, run_line
from jobs.audit.sources import Sources, read_sources
from jobs.audit.staleness import stale_judgment, stale_member, stale_pair
from jobs.settings import Settings
from jobs.table_reader import Reader


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
    sources = read_sources(reader, settings, moment_of(reader, as_of), member_id, qualification_id)
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


def _stale(reader: Reader, sources: Sources, member_id: str) -> list[dict[str, str]] | None:
    """What has moved since; None for an earlier moment, or a pair that no run has covered."""
    if not sources.moment.is_now or sources.covered.stands is None:
        return None
    layout = sources.artifact.layout
    found, publication = sources.found, sources.moment.last
    last = sources.ledgers.get(publication.run_id) if publication else None
    of_pair = stale_pair(found.entry, found.label, layout) if found.label else []
    return [*stale_member(reader, sources.covered, last, member_id), *of_pair, *stale_judgment(sources.judgment)]


def _decision(sources: Sources) -> dict[str, Any]:
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


def _runs(sources: Sources) -> dict[str, Any]:
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


def _versions(sources: Sources) -> dict[str, Any]:
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


def _cost(settings: Settings, sources: Sources) -> dict[str, Any] | None:
    judgment = sources.judgment
    ledger = None if judgment is None else sources.ledgers.get(judgment["judged_run_id"])
    return cost_of(ledger, settings.engines_usd_per_hour)
