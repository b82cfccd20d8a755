"""What adopting another labeler would cost: the pairs to score anew, from the published coverage, and their tokens."""

from dataclasses import asdict, dataclass
from typing import Any

from jobs.ledger import PUBLISHED
from jobs.settings import Settings
from jobs.table_path import table_exists
from jobs.table_reader import literal, query
from mis_scoring.core.artifact import LabelerArtifact
from schemas.coverage import COVERAGE
from schemas.runs import RUNS


@dataclass(frozen=True, kw_only=True)
class AdoptionCost:
    """An estimate; None where it is not known, and `why` says what it rests on.

    Attributes:
        pairs: candidates of all members, the most that can be scored; stopping early scores fewer.
        pairs_judged_now: what the published runs judged for them, early stops included.
        tokens: of `pairs`, by the cost model, with the mean lengths of the artifact's evaluation.
        seconds: of `pairs` at the gate's measured speed, one engine.
    """

    members: int | None
    pairs: int | None
    pairs_judged_now: int | None
    tokens: int | None
    seconds: float | None
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)


def adoption_cost(
    settings: Settings,
    champion: LabelerArtifact | None,
    challenger: LabelerArtifact,
    *,
    pairs_per_s: float | None,
) -> AdoptionCost:
    """Estimate from the latest published coverage of each member."""
    if champion is not None and champion.scorer_id == challenger.scorer_id:
        return AdoptionCost(
            members=None,
            pairs=0,
            pairs_judged_now=None,
            tokens=0,
            seconds=0.0,
            why="same scorer: stored judgments are reused; rounds that no run has judged yet cost extra",
        )
    if not all(table_exists(settings.tables, table) for table in (COVERAGE, RUNS)):
        return _unknown("no run has published anything yet")
    size = challenger.round_rule.candidates_per_round
    row = query(settings.tables, _COVERED.format(size=size), COVERAGE, RUNS)[0]
    if not row["members"]:
        return _unknown("no run has published anything yet")
    lengths = challenger.evaluation.get("cost", {})
    tokens = None
    if lengths:
        # mis_tokens summed over requests: the query once a round, each item once
        tokens = round(row["requests"] * lengths["mean_query_tokens"] + row["pairs"] * lengths["mean_item_tokens"])
    return AdoptionCost(
        members=row["members"],
        pairs=row["pairs"],
        pairs_judged_now=row["judged"],
        tokens=tokens,
        seconds=round(row["pairs"] / pairs_per_s, 1) if pairs_per_s else None,
        why="another scorer: every candidate of every covered member is scored anew, unless its member stops early",
    )


_COVERED = f"""
SELECT count(*) AS members, coalesce(sum(candidates), 0) AS pairs, coalesce(sum(judged), 0) AS judged,
       coalesce(sum(ceil(candidates / CAST({{size}} AS DOUBLE))), 0) AS requests
FROM (
    SELECT candidates, judged, row_number() OVER (PARTITION BY member_id ORDER BY pinned_at DESC, run_id DESC) AS place
    FROM coverage
    WHERE is_complete AND run_id IN (SELECT run_id FROM runs WHERE event = {literal(PUBLISHED)})
) WHERE place = 1"""


def _unknown(why: str) -> AdoptionCost:
    return AdoptionCost(members=None, pairs=None, pairs_judged_now=None, tokens=None, seconds=None, why=why)
