"""Find members and qualifications by what a person types; a bounded number of answers."""

from typing import Any

from jobs.settings import Settings
from jobs.table_reader import Reader, literal
from schemas.catalog import CATALOG
from schemas.labels import LABELS
from schemas.profiles import PROFILES

_LAST = "\U0010ffff"  # sorts after every character: a prefix becomes a range, which file statistics can skip by


def find_members(settings: Settings, prefix: str, *, limit: int = 20) -> list[dict[str, Any]]:
    """Return the first members whose id starts with a prefix.

    Returns:
        rows member_id, n_labels, is_in_profiles; at most `limit`.
    """
    reader = Reader(settings.tables)
    within = f"member_id >= {literal(prefix)} AND member_id < {literal(prefix + _LAST)}"
    ids = f"SELECT DISTINCT member_id FROM profiles WHERE {within} ORDER BY member_id LIMIT {limit}"
    present = {row["member_id"] for row in reader.rows(ids, PROFILES)}
    counts = f"SELECT member_id, count(*) AS n FROM labels WHERE {within} GROUP BY member_id ORDER BY 1 LIMIT {limit}"
    labelled = {row["member_id"]: row["n"] for row in reader.rows(counts, LABELS)}
    return [
        {"member_id": one, "n_labels": labelled.get(one, 0), "is_in_profiles": one in present}
        for one in sorted(present | labelled.keys())[:limit]
    ]


def find_qualifications(settings: Settings, text: str, *, limit: int = 20) -> list[dict[str, Any]]:
    """Return catalog entries whose id starts with, or whose text contains, what was typed; any case.

    Returns:
        rows qualification_id, category, text, status; ids first, then texts that start with it; at most `limit`.
    """
    typed = literal(text.lower())
    sql = f"""
        SELECT qualification_id, category, text, status FROM catalog
        WHERE starts_with(lower(qualification_id), {typed}) OR strpos(lower(text), {typed}) > 0
        ORDER BY starts_with(lower(qualification_id), {typed}) DESC, starts_with(lower(text), {typed}) DESC,
                 CASE WHEN starts_with(lower(qualification_id), {typed}) THEN qualification_id ELSE lower(text) END
        LIMIT {limit}"""
    return Reader(settings.tables).rows(sql, CATALOG)
