"""Order sensitivity: none for an isolating engine, plain for one that leaks."""

from pathlib import Path

import numpy as np
import pytest

from jobs.labeler.scoring import LabelerPrompt, LabelerScorer
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.engine import Engine
from mis_scoring.core.prompt import COMPACT
from mis_scoring.engines.cascade import CascadeEngine
from mis_scoring.evaluation.order_sensitivity import OrderSensitivity, arranged_margins, order_sensitivity
from tests.labeler_work import made_up_members
from tests.tiny_labeler import write_tiny_labeler
from tests.unit.test_engine_mutations import PlainCausalMask, PositionsRunOn, RowsOutOfOrder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tiny")
    write_tiny_labeler(made)
    return made


def sensitivity(folder: Path, engine: Engine) -> OrderSensitivity:
    prompt = LabelerPrompt.of(folder, PromptContract(layout=COMPACT, answers=("YES", "NO")))
    scorer = LabelerScorer(prompt=prompt, engine=engine, candidates_per_round=5)
    moved = arranged_margins(made_up_members(4, seed=1), scorer.together, group_size=5)
    cut = float(np.median(moved[0, :12]))  # parts the first member's candidates
    return order_sensitivity(moved >= cut, moved)


def test_an_isolating_engine_keeps_its_labels(folder: Path) -> None:
    found = sensitivity(folder, CascadeEngine(folder))
    assert (found.n_pairs, found.n_arrangements, found.n_changed) == (48, 3, 0)
    assert found.max_difference < 1e-4


@pytest.mark.parametrize("leak", [PlainCausalMask, PositionsRunOn, RowsOutOfOrder])
def test_an_engine_that_leaks_is_seen(leak: type[Engine], folder: Path) -> None:
    found = sensitivity(folder, leak(folder))
    assert found.max_difference > 1e-2
    assert found.n_changed > 0
    assert found.changed_share == found.n_changed / 48


def test_margins_stand_at_their_candidates_in_every_arrangement() -> None:
    members = made_up_members(3, seed=2, n_candidates=7)
    by_text = {c.text: float(n) for n, c in enumerate(c for m in members for c in m.candidates)}
    moved = arranged_margins(
        members, lambda profile, texts: np.array([by_text[t] for t in texts], np.float32), group_size=3
    )
    assert (moved == moved[0]).all()
    assert moved.shape == (3, 21)


def test_groups_differ_between_arrangements() -> None:
    groups: list[frozenset[str]] = []
    sizes: set[int] = set()

    def remember(profile: str, texts: list[str]) -> np.ndarray:
        groups.append(frozenset(texts))
        sizes.add(len(texts))
        return np.zeros(len(texts), np.float32)

    arranged_margins(made_up_members(1, seed=2, n_candidates=12), remember, group_size=4)  # type: ignore[arg-type]
    assert len(groups) == 3 + 3 + 6
    assert sizes == {4, 2}
    assert set(groups[:3]) != set(groups[3:6])
    assert groups[3:6] != groups[6:9]
    assert all(frozenset().union(*part) == groups[0] | groups[1] | groups[2] for part in (groups[3:6], groups[6:]))
