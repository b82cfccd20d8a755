"""The margins of every slice that a labeler is judged on, and how a champion decides the same test members."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from jobs.labeler.evaluation_slices import TEST, Slices, answer_codes
from jobs.labeler.scoring_pool import ScorerSpec, ScoringPool
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.readout import FloatArray, margin_of
from mis_scoring.core.rounds import RoundRule
from mis_scoring.engines.score_spec import options_for, require_profile
from mis_scoring.evaluation.flips import FlipMatrix
from mis_scoring.evaluation.label_cost import LabelCost
from mis_scoring.evaluation.members import EvaluationMember
from mis_scoring.evaluation.order_sensitivity import Order, orders_of


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The members of every slice with their margins, one array a member; `cost` is of the test members.

    Attributes:
        engine: the fingerprint of what scored them; max_tokens: the longest prompt that it takes.
    """

    slices: Slices
    margins: Mapping[str, Sequence[FloatArray]]
    cost: LabelCost
    engine: Mapping[str, str]
    max_tokens: int

    def flat(self, name: str) -> FloatArray:
        """Return a slice's margins, (n_pairs,)."""
        return np.concatenate([np.zeros(0, np.float32), *self.margins[name]])


def score_slices(pool: ScoringPool, spec: ScorerSpec, slices: Slices, rule: RoundRule, *, where: str) -> Scored:
    """Score every slice in rank order, in rounds of N.

    Raises:
        FaultsError: names members whose prompts the model cannot take.
    """
    scorer, _ = pool.scorers(spec)
    for name, members in slices.items():
        scorer.require_fit(members, where=f"{where}, slice {name}")
    found = {name: pool.score(spec, members, rank_order(members, rule), what=name) for name, members in slices.items()}
    return Scored(
        slices=slices,
        margins={name: margins for name, (margins, _) in found.items()},
        cost=found[TEST][1],
        engine=dict(scorer.engine.fingerprint),
        max_tokens=scorer.engine.max_tokens,
    )


def rank_order(members: Sequence[EvaluationMember], rule: RoundRule) -> Order:
    """Return rank order in rounds of N."""
    n_candidates = [len(member.candidates) for member in members]
    return orders_of(n_candidates, group_sizes=[rule.candidates_per_round], seed=0)[0]


def score_in_order(
    pool: ScoringPool, spec: ScorerSpec, members: Sequence[EvaluationMember], order: Order, *, by_reference: bool
) -> list[FloatArray]:
    """Return the margins alone, one array a member."""
    what = f"{'reference' if by_reference else spec.engine}, groups of {order.group_size}"
    return pool.score(spec, members, order, what=what, by_reference=by_reference)[0]


def champion_flips(
    champion_folder: Path | None, pool: ScoringPool, spec: ScorerSpec, scored: Scored, margin: float
) -> dict[str, Any] | None:
    """Return how the decisions on the test members differ from a champion's, each at its own threshold.

    Args:
        champion_folder: its artifact; None gives None.
        margin: the cut of what was scored.
    Raises:
        DataError: the champion's scores are in another dtype than the engine's.
    """
    if champion_folder is None:
        return None
    champion = LabelerArtifact.load(champion_folder)
    contract = PromptContract.of(champion.prompt, champion.label_tokens)
    options = options_for(champion, dict(spec.engine_options))
    require_profile(champion, spec.engine, options)
    champion_spec = replace(
        spec, folder=champion_folder, contract=contract, engine_options=tuple(sorted(options.items()))
    )
    test = scored.slices[TEST]
    pool.scorers(champion_spec)[0].require_fit(test, where=f"champion {champion.name}")
    found, _ = pool.score(champion_spec, test, rank_order(test, champion.round_rule), what="champion")
    before = np.concatenate(found) >= margin_of(champion.threshold)
    matrix = FlipMatrix.of(before, scored.flat(TEST) >= margin, answer_codes(test))
    return asdict(matrix) | {"flipped_share": matrix.flipped_share, "champion": champion.artifact_id}
