"""How far members got, and how often newcomers were accepted, in the runs that a plan can be compared with.

By delta-rs, without Spark; reads the outcomes of the rounds that are kept, a row a member and round.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobs.ledger import piloted_pins, published_pins
from jobs.pins import Pins
from jobs.rules.forecast import Survival
from jobs.rules.survival import EveryoneGoesOn, KnownInPart, RoundHistory, SurvivalOf, newcomer_ratio
from jobs.table_reader import is_in, literal, query
from schemas.round_outcomes import ROUND_OUTCOMES

ENOUGH_MEMBERS = 50  # as many as a pilot takes; fewer say little of the others
ENOUGH_NEWCOMERS = 100  # pairs; a run that scored fewer says less of newcomers than one before it
PILOT = "`semlabel plan --pilot` scores some members first and tells"
_COUNTED = "missing = 0 AND judged > 0 AND is_past_stop IS NOT TRUE"


@dataclass(frozen=True, kw_only=True)
class Experience:
    """What expected figures rest on.

    Attributes:
        run_id: of the run whose rounds are taken for those to come; None where there is none.
        is_comparable: whether that run decided as this one does: with the same artifact.
        newcomer_ratio: see `jobs.rules.survival`; newcomers_of: the run that tells, None where none does.
        basis: the same in words.
    """

    survival: Survival
    run_id: str | None
    is_comparable: bool
    newcomer_ratio: float
    newcomers_of: str | None
    basis: str


def experience_of(root: Path, pins: Pins) -> Experience:
    """Return what is known of rounds to come.

    Taken are the rounds of the last published run with the run's artifact and enough members, else of the last pilot
    with it, else of a published run of any labeler; newcomers are those of the last run of the same kind or pilot.
    """
    published, pilots = (
        [then for then in found if then.candidates_per_round == pins.candidates_per_round]
        for found in (published_pins(root), piloted_pins(root))
    )
    ratio, newcomers_of = _newcomers(root, pins, [*pilots, *published])
    run_id, is_same, basis = _rounds_to_go_by(root, pins, published, pilots)
    if newcomers_of is not None:
        basis += f"; entries new to a member are accepted {ratio:.2f} times as often as others, as in {newcomers_of}"
    return Experience(
        survival=SurvivalOf(_rounds(root, run_id), ratio) if run_id else EveryoneGoesOn(),
        run_id=run_id,
        is_comparable=is_same,
        newcomer_ratio=ratio,
        newcomers_of=newcomers_of,
        basis=basis,
    )


def _rounds_to_go_by(
    root: Path, pins: Pins, published: Iterable[Pins], pilots: Iterable[Pins]
) -> tuple[str | None, bool, str]:
    """Return the run, whether it is comparable, and the basis in words."""
    members = _members(root)
    large = [then for then in published if members.get(then.run_id, 0) >= ENOUGH_MEMBERS]
    alike = [then.run_id for then in large if then.artifact_id == pins.artifact_id]
    if alike:
        return alike[0], True, f"the rounds of {alike[0]}"
    piloted = [one.run_id for one in pilots if one.artifact_id == pins.artifact_id and one.run_id in members]
    if piloted:
        return piloted[0], True, f"a pilot of {members[piloted[0]]} members, {piloted[0]}"
    if large:
        run_id = large[0].run_id
        return run_id, False, f"the rounds of {run_id}, which decided with another labeler or threshold ({PILOT})"
    basis = (
        f"an assumption, since no published run has judged {ENOUGH_MEMBERS} members in rounds of "
        f"{pins.candidates_per_round}: all is accepted, so it is the most that can be ({PILOT})"
    )
    return None, False, basis


def _members(root: Path) -> dict[str, int]:
    """Return how many members each run judged."""
    sql = f"SELECT run_id, count(*) AS n FROM round_outcomes WHERE round = 0 AND {_COUNTED} GROUP BY run_id"
    return {row["run_id"]: row["n"] for row in query(root, sql, ROUND_OUTCOMES)}


def _rounds(root: Path, run_id: str) -> tuple[RoundHistory, ...]:
    sql = f"""
        SELECT round, count(*) AS members, count(*) FILTER (WHERE reason <> 'accepted_too_little') AS went_on,
               avg(judged) AS pairs, avg(CAST(accepted AS DOUBLE) / judged) AS accepted_share,
               var_pop(CAST(accepted AS DOUBLE) / judged) AS variance
        FROM round_outcomes WHERE run_id = {literal(run_id)} AND {_COUNTED}
        GROUP BY round ORDER BY round"""
    rows = query(root, sql, ROUND_OUTCOMES)
    return tuple(RoundHistory(**{name: value for name, value in row.items() if name != "round"}) for row in rows)


def _newcomers(root: Path, pins: Pins, runs: Iterable[Pins]) -> tuple[float, str | None]:
    """Return the ratio and the run that tells it: the last of the same kind and artifact that scored enough of them."""
    alike = [then for then in runs if (then.kind, then.artifact_id) == (pins.kind, pins.artifact_id)]
    sql = f"""
        SELECT run_id, round, sum(judged - scored) AS known, sum(accepted - scored_accepted) AS known_accepted,
               sum(scored) AS scored, sum(scored_accepted) AS scored_accepted
        FROM round_outcomes WHERE {is_in("run_id", {then.run_id for then in alike})} AND {_COUNTED}
        AND scored > 0 AND scored < judged AND scored_accepted IS NOT NULL GROUP BY run_id, round"""
    found: dict[str, list[KnownInPart]] = {}
    for row in query(root, sql, ROUND_OUTCOMES) if alike else []:
        counts = {name: int(value) for name, value in row.items() if name not in ("run_id", "round")}
        found.setdefault(row["run_id"], []).append(KnownInPart(**counts))
    for then in sorted(alike, key=lambda then: then.pinned_at, reverse=True):
        rounds = found.get(then.run_id, [])
        if sum(one.scored for one in rounds) >= ENOUGH_NEWCOMERS:
            return newcomer_ratio(rounds), then.run_id
    return 1.0, None
