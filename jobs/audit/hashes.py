"""By which hashes the judgment of a pair without a label is found, and in which round it was judged.

`member_rounds` has them for some weeks. After that coverage has the query's, and the item's is that of the entry as it
is now; on coverage that lacks it the query is rendered again, as long as the profile is the one that the run read.
"""

from dataclasses import dataclass
from typing import Any

from jobs.audit.coverage import evaluated_by
from jobs.table_reader import Reader, equals
from mis_scoring.core.identity import text_hash
from mis_scoring.core.prompt import PromptLayout
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES


@dataclass(frozen=True, kw_only=True)
class PairHashes:
    """Hashes of the rendered texts of a pair; None where they cannot be told any more."""

    query_hash: str | None
    item_hash: str | None
    missing: str | None = None


def hashes_of_label(label: dict[str, Any]) -> PairHashes:
    """Return the hashes that stand in a label."""
    return PairHashes(query_hash=label["query_hash"], item_hash=label["item_hash"])


def hashes_in_run(
    reader: Reader,
    stands: dict[str, Any],
    entry: dict[str, Any] | None,
    qualification_id: str,
    layout: PromptLayout | None,
) -> PairHashes:
    """Return the hashes of a pair that a run judged.

    Args:
        stands: the run's coverage of the member.
        layout: of the run's artifact.
    """
    where = equals(run_id=evaluated_by(stands), member_id=stands["member_id"])
    columns = "query_hash, item_ids, item_hashes, reused_ids, reused_hashes"
    rows = reader.rows(f"SELECT {columns} FROM member_rounds WHERE {where}", MEMBER_ROUNDS)
    for row in rows:
        hashes = dict(zip(row["item_ids"] + row["reused_ids"], row["item_hashes"] + row["reused_hashes"], strict=True))
        if qualification_id in hashes:
            return PairHashes(query_hash=row["query_hash"], item_hash=hashes[qualification_id])
    return _rendered(reader, stands, entry, layout)


def _rendered(
    reader: Reader, stands: dict[str, Any], entry: dict[str, Any] | None, layout: PromptLayout | None
) -> PairHashes:
    gone = f"the round of {stands['run_id']} was kept {MEMBER_ROUNDS.kept_days} days"
    if layout is None:
        return PairHashes(query_hash=None, item_hash=None, missing=f"{gone}, and its labeler is gone too")
    query_hash = stands["query_hash"] or _query_hash(reader, stands, layout)
    if query_hash is None:
        return PairHashes(query_hash=None, item_hash=None, missing=f"{gone}, and the profile is another one since")
    item: str | None = entry["text"] if entry else None
    return PairHashes(
        query_hash=query_hash,
        item_hash=text_hash(layout.render_item(item)) if item is not None else None,
        missing=None if item is not None else f"{gone}, and the entry has no text now",
    )


def _query_hash(reader: Reader, stands: dict[str, Any], layout: PromptLayout) -> str | None:
    """Return the hash of the query, as long as the profile is the one that the run read."""
    profile = reader.one(f"SELECT profile_text FROM profiles WHERE {equals(member_id=stands['member_id'])}", PROFILES)
    text: str | None = profile["profile_text"] if profile else None
    if text is None or text_hash(text) != stands["profile_hash"]:
        return None
    return text_hash(layout.render_query(text))
