"""Why a published label is not, or may not be, what a run would find now."""

from typing import Any

from jobs.audit.coverage import MemberCoverage, left_out_reason
from jobs.audit.runs import pins_in
from jobs.rules.standing import ROLLBACK
from jobs.run_ledger import RunLedger
from jobs.table_reader import Reader, equals
from mis_scoring.core.identity import text_hash
from mis_scoring.core.prompt import PromptLayout
from schemas.profiles import PROFILES


def stale_member(
    reader: Reader, covered: MemberCoverage, last: RunLedger | None, member_id: str
) -> list[dict[str, str]]:
    """Return rows code, reason: what has moved since the run that the member's labels stand on.

    Args:
        last: the run that published last; the catalog and the labeler are compared with what it pinned.
    """
    row = covered.left_out
    reasons = {str(row["incomplete_reason"]): left_out_reason(reader, row, member_id)} if row else {}
    if covered.stands is not None:
        reasons |= _restored(covered.stands) | _profile(reader, covered.stands, member_id) | _pins(last, covered.stands)
    return _as_rows(reasons)


def stale_pair(
    entry: dict[str, Any] | None, label: dict[str, Any], layout: PromptLayout | None
) -> list[dict[str, str]]:
    """Return rows code, reason: what has moved of a published label's catalog entry.

    Args:
        entry: as it is now. layout: of the label's artifact.
    """
    reasons: dict[str, str] = {}
    if entry is None or entry["status"] != "active":
        reasons["entry_gone"] = f"the entry is {entry['status'] if entry else 'gone from the catalog'}"
    elif _has_another_text(entry, label, layout):
        reasons["catalog_text_changed"] = "the entry has another text than the one that was judged"
    return _as_rows(reasons)


def _has_another_text(entry: dict[str, Any], label: dict[str, Any], layout: PromptLayout | None) -> bool:
    if layout is None or entry["text"] is None:
        return False
    return text_hash(layout.render_item(entry["text"])) != str(label["item_hash"])


def stale_judgment(judgment: dict[str, Any] | None) -> list[dict[str, str]]:
    """Return a row where the judgment behind a label or a rejection was revoked, and no run has repaired it yet."""
    if judgment is None or judgment["revocation"] is None:
        return []
    return _as_rows({"revoked": f"{judgment['revocation']['revocation_id']}: {judgment['revocation']['reason']}"})


def _as_rows(reasons: dict[str, str]) -> list[dict[str, str]]:
    return [{"code": code, "reason": reason} for code, reason in reasons.items()]


def _restored(stands: dict[str, Any]) -> dict[str, str]:
    if not stands["restored_run_id"]:
        return {}
    return {"rolled_back": f"{stands['run_id']} took the labels back to {stands['restored_run_id']}"}


def _profile(reader: Reader, stands: dict[str, Any], member_id: str) -> dict[str, str]:
    row = reader.one(f"SELECT profile_text FROM profiles WHERE {equals(member_id=member_id)}", PROFILES)
    if row is None:
        return {"member_removed": "the member is gone from profiles"} if stands["profile_hash"] else {}
    is_same = row["profile_text"] is not None and text_hash(row["profile_text"]) == stands["profile_hash"]
    return {} if is_same else {"profile_changed": f"the profile is another one than {stands['run_id']} read"}


def _pins(last: RunLedger | None, stands: dict[str, Any]) -> dict[str, str]:
    pins = pins_in(last)
    if pins is None or pins.kind == ROLLBACK:  # it read nothing itself
        return {}
    found = {}
    if pins.catalog_version != stands["catalog_version"]:
        found["catalog_changed"] = f"{pins.run_id} pinned another catalog than {stands['run_id']}"
    if pins.artifact_id != stands["artifact_id"]:
        found["artifact_changed"] = f"{pins.run_id} pinned another labeler than {stands['run_id']}"
    return found
