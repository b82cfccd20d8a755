"""The tie rule takes back what packing did to pairs at the threshold."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from jobs.labeler.reference_check import ReferenceCheck, ScoreMembers, check_against_reference
from jobs.labeler.scoring import LabelerPrompt, LabelerScorer
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.cascade import CascadeEngine
from mis_scoring.engines.reference import ReferenceEngine
from mis_scoring.evaluation.members import EvaluationMember
from mis_scoring.evaluation.order_sensitivity import Order, orders_of
from mis_scoring.evaluation.thresholds import threshold_of_margin
from mis_scoring.evaluation.tie_band import SAFETY
from tests.labeler_work import made_up_members
from tests.tiny_labeler import write_tiny_labeler

JITTER = 0.5


class Jittery(CascadeEngine):
    """Moves the margin of every second row of a request: what a kernel's rounding does, only much larger."""

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        logits = super().label_logits(query, items, label_tokens)
        logits[::2, 0] += JITTER
        return logits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tiny")
    write_tiny_labeler(made)
    return made


def scorer(folder: Path, engine: Engine) -> LabelerScorer:
    prompt = LabelerPrompt.of(folder, PromptContract(layout=COMPACT, answers=("YES", "NO")))
    return LabelerScorer(prompt=prompt, engine=engine)


def score_with(folder: Path, engine: Engine) -> ScoreMembers:
    def score(members: Sequence[EvaluationMember], order: Order) -> list[FloatArray]:
        pairs = zip(members, order.places, strict=True)
        return [scorer(folder, engine).in_groups(m, places, order.group_size)[0] for m, places in pairs]

    return score


def check(folder: Path, engine: Engine, *, n_pairs: int = 1000) -> ReferenceCheck:
    """Check with a threshold that one pair reaches only where its margin is moved."""
    members = made_up_members(4, seed=1)
    alone = scorer(folder, CascadeEngine(folder)).together(
        members[0].profile_text, [c.text for c in members[0].candidates]
    )
    packed = score_with(folder, engine)
    return check_against_reference(
        members,
        packed(members, orders_of([12] * 4, group_sizes=[6], seed=0)[0]),
        packed=packed,
        alone=score_with(folder, ReferenceEngine(folder)),
        is_exact=False,
        threshold=threshold_of_margin(float(np.sort(alone)[6]) + JITTER / 2),
        candidates_per_round=6,
        n_pairs=n_pairs,
        order_members=4,
    )


def test_labels_that_flip_with_packing_are_decided_by_the_reference(folder: Path) -> None:
    found = check(folder, Jittery(folder))
    assert found.tie.max_difference == pytest.approx(JITTER, abs=1e-3)
    assert found.tie.tie_eps == pytest.approx(SAFETY * JITTER, abs=2e-3)
    assert found.tie.n_in_band > 0
    assert found.order["without_tie_rule"]["n_changed"] > 0
    assert found.order["with_tie_rule"]["n_changed"] == 0


def test_the_first_order_is_the_rounds_that_were_scored_before(folder: Path) -> None:
    found = check(folder, Jittery(folder))
    assert found.order["without_tie_rule"]["n_orders"] == 3
    assert found.order["max_difference"] == pytest.approx(JITTER, abs=1e-3)


@pytest.mark.parametrize(("n_pairs", "expected"), [(1, 12), (12, 12), (13, 24), (1000, 48)])
def test_as_many_members_as_have_the_pairs_are_compared(folder: Path, n_pairs: int, expected: int) -> None:
    found = check(folder, CascadeEngine(folder), n_pairs=n_pairs)
    assert found.tie.n_pairs == len(found.margins) == found.order["with_tie_rule"]["n_pairs"] == expected
