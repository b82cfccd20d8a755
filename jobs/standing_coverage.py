"""Which published coverage each member's labels stand on, for readers without Spark: `jobs.coverage` as SQL."""

from pathlib import Path

from jobs.ledger import publications
from jobs.table_reader import literal

_ORDER = "profiles_delta_version DESC, catalog_delta_version DESC, pinned_at DESC, run_id DESC"


def standing_coverage(root: Path) -> str:
    """Return the start of a query over `coverage`: WITH stands, left_out, at most one row a member each.

    stands: the complete row of the last publication. left_out: the newest row that says why a member was left out, but
    for `superseded`, which says that a newer one stands. Grows with the published runs, one pair of values each.
    """
    took_effect = ", ".join(f"({literal(run_id)}, {number})" for run_id, number in sorted(publications(root).items()))
    return f"""
        WITH took_effect(run_id, publication) AS (VALUES {took_effect or "('', 0)"}),
        published AS (SELECT c.*, t.publication FROM coverage c JOIN took_effect t ON t.run_id = c.run_id),
        stands AS ({_first("is_complete", f"publication DESC, {_ORDER}")}),
        left_out AS ({_first("NOT is_complete AND incomplete_reason <> 'superseded'", _ORDER)})"""


def _first(condition: str, order: str) -> str:
    ranked = f"row_number() OVER (PARTITION BY member_id ORDER BY {order}) AS place"
    return f"SELECT * FROM (SELECT *, {ranked} FROM published WHERE {condition}) WHERE place = 1"
