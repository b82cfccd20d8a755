"""How far members got in the last run that a plan can be compared with; by delta-rs, without Spark."""

from dataclasses import dataclass
from pathlib import Path

from jobs.ledger import published_pins
from jobs.pins import Pins
from jobs.rules.forecast import Survival
from jobs.rules.survival import EveryoneGoesOn, RoundHistory, SurvivalOf
from jobs.table_reader import literal, query
from schemas.round_outcomes import ROUND_OUTCOMES

ENOUGH_MEMBERS = 50  # as many as a pilot would take; fewer say little of the others


@dataclass(frozen=True, kw_only=True)
class Experience:
    """What expected figures rest on.

    Attributes:
        run_id: of the run whose rounds are taken for those to come; None where there is none.
        is_comparable: whether that run decided as this one does: with the same artifact.
        basis: the same in words.
    """

    survival: Survival
    run_id: str | None
    is_comparable: bool
    basis: str


def experience_of(root: Path, pins: Pins) -> Experience:
    """Return the rounds of the last published run with the run's artifact and enough members, else of any labeler's."""
    run = _comparable_run(root, pins)
    if run is None:
        basis = (
            f"an assumption: all is accepted, since no published run has judged {ENOUGH_MEMBERS} members in rounds of"
        )
        basis += f" {pins.candidates_per_round}"
        return Experience(survival=EveryoneGoesOn(), run_id=None, is_comparable=False, basis=basis)
    run_id, is_same = run
    basis = f"the rounds of {run_id}" + ("" if is_same else ", which decided with another labeler or threshold")
    return Experience(survival=SurvivalOf(_rounds(root, run_id)), run_id=run_id, is_comparable=is_same, basis=basis)


def _comparable_run(root: Path, pins: Pins) -> tuple[str, bool] | None:
    """Return the newest published run with the run's N and enough members; one of the same artifact goes first."""
    counts = "SELECT run_id FROM round_outcomes WHERE round = 0 GROUP BY run_id HAVING count(*) >= "
    large = {row["run_id"] for row in query(root, counts + str(ENOUGH_MEMBERS), ROUND_OUTCOMES)}
    found = [
        (then.run_id, then.artifact_id == pins.artifact_id)
        for then in published_pins(root)
        if then.run_id in large and then.candidates_per_round == pins.candidates_per_round
    ]
    return next((run for run in found if run[1]), found[0] if found else None)


def _rounds(root: Path, run_id: str) -> tuple[RoundHistory, ...]:
    sql = f"""
        SELECT round, count(*) AS members, count(*) FILTER (WHERE reason <> 'accepted_too_little') AS went_on,
               avg(judged) AS pairs, avg(CAST(accepted AS DOUBLE) / judged) AS accepted_share,
               var_pop(CAST(accepted AS DOUBLE) / judged) AS variance
        FROM round_outcomes WHERE run_id = {literal(run_id)} AND missing = 0 AND judged > 0 AND is_past_stop IS NOT TRUE
        GROUP BY round ORDER BY round"""
    rows = query(root, sql, ROUND_OUTCOMES)
    return tuple(RoundHistory(**{name: value for name, value in row.items() if name != "round"}) for row in rows)
