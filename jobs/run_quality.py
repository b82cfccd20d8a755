"""Quality of the published labels against known answers, and where the supported pairs without a label were lost.

A supported pair without a label was lost in one of three places: it was not retrieved, its member had stopped before
its rank, or the scorer rejected it; the run that a member's labels stand on says where. Needs no Spark; memory grows
with the known answers.
"""

from typing import Any

from jobs.ledger import publications
from jobs.settings import Settings
from jobs.table_reader import literal, query
from schemas.candidates import CANDIDATES
from schemas.coverage import COVERAGE
from schemas.labels import LABELS
from schemas.reference import REFERENCE, SUPPORTED, UNKNOWN


def quality(settings: Settings) -> dict[str, Any] | None:
    """Compare the published labels with the known answers; None where none is known.

    Unknown pairs are left out and counted. A pair of a member with any known answer is unsupported unless listed.
    """
    published = publications(settings.tables)
    if not published:
        return None
    runs = ", ".join(f"({literal(run_id)}, {publication})" for run_id, publication in published.items())
    tally = query(settings.tables, _TALLY.format(runs=runs), REFERENCE, LABELS, CANDIDATES, COVERAGE)[0]
    return rates(tally) if tally["supported"] else None


_TALLY = f"""
WITH took_effect (run_id, publication) AS (VALUES {{runs}}
), ranked AS (
    SELECT v.run_id, v.member_id, v.depth, row_number() OVER (
        PARTITION BY v.member_id
        ORDER BY t.publication DESC, v.profiles_delta_version DESC, v.catalog_delta_version DESC, v.pinned_at DESC
    ) AS place
    FROM coverage v JOIN took_effect t ON v.run_id = t.run_id
    WHERE v.is_complete AND v.member_id IN (SELECT member_id FROM reference)
), published AS (
    SELECT member_id, qualification_id FROM labels WHERE member_id IN (SELECT member_id FROM reference)
), pairs AS (
    SELECT coalesce(r.member_id, l.member_id) AS member_id,
           coalesce(r.qualification_id, l.qualification_id) AS qualification_id,
           l.member_id IS NOT NULL AS is_label,
           coalesce(r.answer, '') = '{SUPPORTED}' AS is_supported, coalesce(r.answer, '') = '{UNKNOWN}' AS is_unknown
    FROM reference r FULL OUTER JOIN published l
    ON r.member_id = l.member_id AND r.qualification_id = l.qualification_id
), placed AS (
    SELECT p.*, c.rank IS NOT NULL AS is_retrieved, coalesce(c.rank < v.depth, false) AS is_judged
    FROM pairs p
    LEFT JOIN (SELECT * FROM ranked WHERE place = 1) v ON p.member_id = v.member_id
    LEFT JOIN candidates c
    ON v.run_id = c.run_id AND p.member_id = c.member_id AND p.qualification_id = c.qualification_id
)
SELECT count(*) FILTER (WHERE is_label AND is_supported) AS true_positives,
       count(*) FILTER (WHERE is_label AND NOT is_supported AND NOT is_unknown) AS false_positives,
       count(*) FILTER (WHERE is_supported AND NOT is_label AND NOT is_retrieved) AS lost_in_retrieval,
       count(*) FILTER (WHERE is_supported AND NOT is_label AND is_retrieved AND NOT is_judged) AS lost_by_early_stop,
       count(*) FILTER (WHERE is_supported AND NOT is_label AND is_judged) AS lost_by_scorer,
       count(*) FILTER (WHERE is_label AND is_unknown) AS unknown_labels,
       count(*) FILTER (WHERE is_supported AND is_retrieved) AS supported_retrieved,
       count(*) FILTER (WHERE is_supported) AS supported
FROM placed"""


def rates(tally: dict[str, int]) -> dict[str, Any]:
    """Precision, recall, F1 and recall@K from counts; None where the denominator is 0."""
    true, labelled = tally["true_positives"], tally["true_positives"] + tally["false_positives"]
    return {
        "precision": _ratio(true, labelled),
        "recall": _ratio(true, tally["supported"]),
        "f1": _ratio(2 * true, labelled + tally["supported"]),
        "recall_at_k": _ratio(tally["supported_retrieved"], tally["supported"]),
        **tally,
    }


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
