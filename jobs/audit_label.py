"""Say why a member has, or does not have, a label: which of four states holds, by which run, score and versions.

accepted: published. rejected: judged under the threshold. not_evaluated: beyond K, after an early stop, quarantined, or
no run yet. not_in_catalog: the catalog has no such active entry.
"""

from typing import Any

from jobs.ledger import publications
from jobs.settings import Settings
from jobs.table_path import table_exists
from jobs.table_reader import literal, pins_of, query
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.judgments import JUDGMENTS
from schemas.labels import LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.quarantine import QUARANTINE
from schemas.runs import RUNS


def audit_label(settings: Settings, member_id: str, qualification_id: str) -> dict[str, Any]:
    """Return the state of a pair with its evidence.

    Returns:
        state, reason, and what is known of: score, margin, threshold, rank, round, runs, versions, artifact.
    """
    pair = {"member_id": member_id, "qualification_id": qualification_id}
    label = _one(settings, f"SELECT * FROM labels WHERE {_is_pair(pair)}", LABELS)
    if label is not None:
        margin = _judgment(settings, label["scorer_id"], label["query_hash"], label["item_hash"])
        return (
            pair | {"state": "accepted", "reason": "score >= threshold"} | label | margin | _staleness(settings, pair)
        )
    entry = _one(settings, f"SELECT status FROM catalog WHERE qualification_id = {literal(qualification_id)}", CATALOG)
    if entry is None or entry["status"] != "active":
        reason = "no such entry" if entry is None else f"its status is {entry['status']}"
        return pair | {"state": "not_in_catalog", "reason": reason}
    covered = _latest_coverage(settings, member_id)
    if covered is None:
        return pair | {"state": "not_evaluated"} | _uncovered(settings, member_id)
    return pair | _without_label(settings, pair, covered) | _lineage(settings, covered)


def _without_label(settings: Settings, pair: dict[str, str], covered: dict[str, Any]) -> dict[str, Any]:
    if covered["stop_reason"] == "member_removed":
        return {"state": "not_evaluated", "reason": "the member is gone from profiles"}
    where = f"run_id = {literal(covered['run_id'])} AND {_is_pair(pair)}"
    candidate = _one(settings, f"SELECT rank, similarity FROM candidates WHERE {where}", CANDIDATES)
    if candidate is None:
        depth = covered["candidates_per_member"]
        return {"state": "not_evaluated", "reason": f"not among the {depth} candidates that retrieval proposed"}
    found = {"rank": candidate["rank"], "similarity": candidate["similarity"]}
    if candidate["rank"] >= covered["depth"]:
        why = (
            f"stopped early ({covered['stop_reason']}) after {covered['rounds']} round(s), before rank {found['rank']}"
        )
        return {"state": "not_evaluated", "reason": why} | found
    return {"state": "rejected", "reason": "score < threshold"} | found | _rejection(settings, pair, covered)


def _rejection(settings: Settings, pair: dict[str, str], covered: dict[str, Any]) -> dict[str, Any]:
    sql = f"""
        SELECT round, query_hash, item_ids, item_hashes, reused_ids, reused_hashes FROM member_rounds
        WHERE run_id = {literal(covered["run_id"])} AND member_id = {literal(pair["member_id"])}"""
    for row in query(settings.tables, sql, MEMBER_ROUNDS):
        hashes = dict(zip(row["item_ids"] + row["reused_ids"], row["item_hashes"] + row["reused_hashes"], strict=True))
        if pair["qualification_id"] in hashes:
            hash_ = hashes[pair["qualification_id"]]
            judged = _judgment(settings, covered["scorer_id"], row["query_hash"], hash_)
            return {"round": row["round"], "query_hash": row["query_hash"], "item_hash": hash_} | judged
    return {}


def _judgment(settings: Settings, scorer_id: str, query_hash: str, item_hash: str) -> dict[str, Any]:
    sql = f"""
        SELECT margin, score, is_reference, engine, run_id AS judged_run_id, judged_at FROM judgments
        WHERE scorer_id = {literal(scorer_id)} AND query_hash = {literal(query_hash)}
        AND item_hash = {literal(item_hash)}
        ORDER BY generation DESC, judged_at, run_id LIMIT 1"""
    found = _one(settings, sql, JUDGMENTS)
    return {} if found is None else found | {"judged_at": found["judged_at"].isoformat()}


def _lineage(settings: Settings, covered: dict[str, Any]) -> dict[str, Any]:
    pins = pins_of(settings.tables, covered["run_id"])
    return {
        "run_id": covered["run_id"],
        "threshold": pins.threshold,
        "artifact_id": pins.artifact_id,
        "labeler_version": pins.labeler_version,
        "profile_version": covered["profile_version"],
        "catalog_version": covered["catalog_version"],
    }


def _latest_coverage(settings: Settings, member_id: str) -> dict[str, Any] | None:
    """The coverage that the member's labels stand on: the complete row of the last publication."""
    if not all(table_exists(settings.tables, table) for table in (COVERAGE, RUNS)):
        return None
    published = publications(settings.tables)
    sql = f"SELECT * FROM coverage WHERE member_id = {literal(member_id)} AND is_complete"
    rows = [row for row in query(settings.tables, sql, COVERAGE) if row["run_id"] in published]
    newest = ("profiles_delta_version", "catalog_delta_version", "pinned_at", "run_id")
    return max(rows, key=lambda row: (published[row["run_id"]], *(row[name] for name in newest)), default=None)


def _uncovered(settings: Settings, member_id: str) -> dict[str, Any]:
    aside = _quarantined(settings, member_id)
    if aside is not None:
        return {"reason": f"quarantined: {aside['reason']}", "run_id": aside["run_id"]}
    known = _one(settings, f"SELECT 1 AS one FROM profiles WHERE member_id = {literal(member_id)}", PROFILES)
    return {"reason": "no run has covered this member yet" if known else "no such member in profiles"}


def _staleness(settings: Settings, pair: dict[str, str]) -> dict[str, Any]:
    aside = _quarantined(settings, pair["member_id"])
    covered = _latest_coverage(settings, pair["member_id"])
    if aside is None or (covered is not None and covered["pinned_at"] > aside["at"]):
        return {"is_stale": False}
    return {"is_stale": True, "stale_reason": f"quarantined: {aside['reason']}"}


def _quarantined(settings: Settings, member_id: str) -> dict[str, Any] | None:
    if not table_exists(settings.tables, QUARANTINE):
        return None
    sql = f"""
        SELECT run_id, reason, at FROM quarantine WHERE "table" = 'profiles' AND key = {literal(member_id)}
        ORDER BY at DESC LIMIT 1"""
    return _one(settings, sql, QUARANTINE)


def _one(settings: Settings, sql: str, *tables: Any) -> dict[str, Any] | None:
    if not all(table_exists(settings.tables, table) for table in tables):
        return None
    return next(iter(query(settings.tables, sql, *tables)), None)


def _is_pair(pair: dict[str, str]) -> str:
    return " AND ".join(f"{name} = {literal(value)}" for name, value in pair.items())
