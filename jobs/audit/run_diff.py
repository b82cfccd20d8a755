"""What stands between the labels after one run and after another: the net of all publications in between."""

from typing import Any

from jobs.audit.moment import moment_of
from jobs.rules.labels import IDENTITY
from jobs.settings import Settings
from jobs.table_reader import Reader, literal
from schemas.label_changes import LABEL_CHANGES

_OPPOSITE = {"added": "removed", "removed": "added", "revised": "revised"}


def run_diff(settings: Settings, run_a: str, run_b: str, *, limit: int = 100) -> dict[str, Any]:
    """Compare the published labels as they stood after two runs.

    Work grows with the changes of the runs in between; they are counted where they are read.

    Returns:
        run_a, run_b; runs: those whose changes lie between, in order; counts: change -> reason -> labels; changes: the
        first `limit` by member and qualification, each with change, reason, before and after; n_changes: of all.
        The reason is that of the last change between. Where run_a is the newer one, changes are turned round.
    Raises:
        DataError: one of them is no published run.
    """
    reader = Reader(settings.tables)
    a, b = moment_of(reader, run_a), moment_of(reader, run_b)
    is_turned = len(a.publications) > len(b.publications)
    older, newer = (b, a) if is_turned else (a, b)
    between = [run_id for run_id in newer.publications if run_id not in older.publications]
    net = _net(between)
    counted = f"{net} SELECT change, reason, count(*) AS n FROM differs GROUP BY change, reason ORDER BY 1, 2"
    listed = f"{net} SELECT * FROM differs ORDER BY member_id, qualification_id LIMIT {limit}"
    counts: dict[str, dict[str, int]] = {"added": {}, "removed": {}, "revised": {}}
    for row in reader.rows(counted, LABEL_CHANGES) if between else []:
        counts[_turned(row["change"], is_turned)][row["reason"]] = row["n"]
    rows = reader.rows(listed, LABEL_CHANGES) if between else []
    return {
        "run_a": run_a,
        "run_b": run_b,
        "runs": between,
        "counts": counts,
        "n_changes": sum(n for reasons in counts.values() for n in reasons.values()),
        "changes": [_change(row, is_turned) for row in rows],
    }


def _net(between: list[str]) -> str:
    """Return the start of a query: WITH differs, one row a label whose first `before` and last `after` differ."""
    places = ", ".join(f"({literal(run_id)}, {place})" for place, run_id in enumerate(between))
    same = " AND ".join(f"before.{name} = after.{name}" for name in IDENTITY)
    return f"""
        WITH places(run_id, place) AS (VALUES {places}),
        net AS (
            SELECT member_id, qualification_id, first_value(c.before ORDER BY place) AS before,
                   last_value(c.after ORDER BY place) AS after, last_value(c.reason ORDER BY place) AS reason
            FROM label_changes c JOIN places p ON p.run_id = c.run_id
            GROUP BY member_id, qualification_id),
        differs AS (
            SELECT *, CASE WHEN before IS NULL THEN 'added' WHEN after IS NULL THEN 'removed' ELSE 'revised' END
                AS change
            FROM net WHERE NOT (before IS NULL AND after IS NULL) AND NOT coalesce({same}, false))"""


def _change(row: dict[str, Any], is_turned: bool) -> dict[str, Any]:
    before, after = (row["after"], row["before"]) if is_turned else (row["before"], row["after"])
    names = {name: row[name] for name in ("member_id", "qualification_id", "reason")}
    return names | {"change": _turned(row["change"], is_turned), "before": before, "after": after}


def _turned(change: str, is_turned: bool) -> str:
    return _OPPOSITE[change] if is_turned else change
