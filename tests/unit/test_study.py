"""The study: nested sizes, fair batches, figures that miss nothing, and a run that goes on where it stopped."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.study import run
from jobs.study.agreement import agreement
from jobs.study.cells import GENERATION, METHODS, SCORING, SMALL, Cell, passes_of, plan
from jobs.study.flops import ForwardCost
from jobs.study.measure import study_orders
from jobs.study.members_file import TrainingMember, first_pairs, read_members, write_members
from jobs.study.models import base_of
from jobs.study.pieces import cut, join
from jobs.study.report import sorted_results, table, write_table
from jobs.study.scoring import SliceScorer, decide, decide_with_reference
from jobs.study.slices import Slice, balanced, read_slices
from jobs.study.tuning import batches
from mis_scoring.core.errors import DataError
from mis_scoring.evaluation.members import EvaluationCandidate, EvaluationMember
from mis_scoring.evaluation.members import write_members as write_evaluation
from mis_scoring.training.model import DecoderShape

BUNDLED = Path(__file__).parents[2] / "labelers" / "esco-small"
SHAPE = DecoderShape(hidden_size=32, intermediate_size=48, n_layers=1, n_heads=2, n_kv_heads=1, head_dim=16)
WORDS = ("nurse", "tax accountant", "forklift licence", "paint walls", "teach history", "bake bread")


def training_members(n_members: int, *, n_pairs: int = 25) -> list[TrainingMember]:
    rng = random.Random(3)
    return [
        TrainingMember(
            profile_text=f"I am number {i}: " + rng.choice(WORDS),
            qualifications=[f"{rng.choice(WORDS)} {n}" for n in range(n_pairs)],
            answers=[rng.random() < 0.5 for _ in range(n_pairs)],
        )
        for i in range(n_members)
    ]


def evaluation_member(number: int, *, n_candidates: int = 24) -> EvaluationMember:
    rng = random.Random(number)
    candidates = [
        EvaluationCandidate(
            qualification_id=f"q{n}",
            category="skill",
            text=f"{rng.choice(WORDS)} {n}",
            similarity=0.5,
            answer=("supported", "unsupported", "unsupported", "unknown")[n % 4],
        )
        for n in range(n_candidates)
    ]
    return EvaluationMember(
        member_id=f"m{number}", profile_text=f"Profile {number}", candidates=candidates, supported=["q0"]
    )


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_members(folder / "training.jsonl.gz", training_members(4))
    for start, name in enumerate(("validation", "test", "unseen_concepts")):
        write_evaluation(folder / f"{name}.jsonl.gz", [evaluation_member(10 * start + i) for i in range(2)])
    return folder


def test_members_are_read_as_they_were_written(tmp_path: Path) -> None:
    members = training_members(3)
    write_members(tmp_path / "m.gz", members)
    assert read_members(tmp_path / "m.gz") == members


@given(small=st.integers(1, 100), more=st.integers(0, 100))
def test_the_pairs_of_a_smaller_size_lie_within_a_larger_one(small: int, more: int) -> None:
    members = training_members(8)

    def pairs(n: int) -> list[tuple[str, str]]:
        return [(m.profile_text, q) for m in first_pairs(members, n) for q in m.qualifications]

    assert pairs(small) == pairs(small + more)[:small]
    assert len(pairs(small + more)) == small + more


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="26 pairs wanted, 25 are there"):
        list(first_pairs(training_members(1), 26))


def test_both_methods_meet_the_same_pairs_in_as_many_steps() -> None:
    members = training_members(6)
    base = base_of(SMALL, BUNDLED, layout="compact", shape=SHAPE)
    cells = [Cell(model=SMALL, method=m, n_pairs=150, n_passes=2, seed=0, layout="compact") for m in METHODS]
    scoring, generation = (list(batches(base, cell, members, 4)) for cell in cells)
    assert len(scoring) == len(generation) == 4
    assert sum(len(batch.answers) for batch in scoring) == 300
    ends = [int((batch.targets(yes_id=0, no_id=0) == base.generation_tokenizer.end_id).sum()) for batch in generation]
    assert sum(ends) == sum(len(batch.token_ids) for batch in generation)  # every list ends once
    # an answer is met once a pair and pass: a list has as many commas as answers, less one
    yes_and_no = [base.generation_tokenizer.decode(b.targets(yes_id=0, no_id=0).tolist()) for b in generation]
    assert sum(text.count("YES") + text.count("NO") for text in yes_and_no) == 300


def test_a_missing_answer_agrees_with_nothing_and_is_counted() -> None:
    decisions = np.array([1, -1, -1, 0, 1], np.int8)
    answers = np.array([True, True, False, False, False])
    figures = agreement(decisions, answers, np.array([True, True, True, True, False]))
    assert figures["agreement"] == 0.5
    assert (figures["n_pairs"], figures["n_no_answer"]) == (4, 2)
    assert (figures["precision"], figures["recall"]) == (1.0, 0.5)


def test_a_balanced_slice_has_all_supported_and_as_many_unsupported() -> None:
    part = balanced(Slice(name="test", members=[evaluation_member(i) for i in range(3)]))
    assert part.answers.mean() == 0.5
    assert part.is_known.all()
    assert part.n_candidates == [12, 12, 12]


def test_the_tie_rule_takes_the_reference_near_the_cut_only() -> None:
    margins = np.array([0.05, -0.05, 3.0, -3.0], np.float32)
    reference = np.array([-1.0, 1.0, np.nan, np.nan], np.float32)
    decided = decide_with_reference(margins, 0.0, tie_eps=0.1, reference=reference)
    assert decided.tolist() == [0, 1, 1, 0]
    assert decide(margins, 0.0).tolist() == [1, 0, 1, 0]


def test_margins_come_back_in_candidate_order_whatever_was_asked_first(data_dir: Path) -> None:
    base = base_of(SMALL, BUNDLED, layout="compact", shape=SHAPE)
    decoder, part = base.make(seed=1, device="cpu"), read_slices(data_dir, n_members=2)["test"]
    scorer = SliceScorer(base, part)
    orders = study_orders(part, 4)
    first, *others = (scorer.margins(decoder, order) for order in orders)
    alone = scorer.single_margins(decoder, np.ones(scorer.n_pairs, np.bool_))
    assert np.ptp(first) > 0.01  # the pairs differ by far more than what is allowed below
    for margins in (*others, alone):
        np.testing.assert_allclose(margins, first, atol=1e-5)


def test_generation_costs_more_a_label_than_packed_scoring() -> None:
    cost = ForwardCost(weights=1_000, attention_width=10, hidden_size=4, vocab_size=50)
    scoring = cost.packed_scoring(100, [5] * 200) / 200
    generation = 10 * cost.list_generation(100 + 20 * 5, 40) / 200
    assert generation > scoring
    assert cost.packed_scoring(100, [5]) == 2_000 * 105 + 40 * (5050 + 500 + 15) + 8 * 2


def run_tiny(data_dir: Path, out: Path, *, seconds: float = 1e6) -> list[dict[str, object]]:
    cells = plan([20], models=[SMALL], seeds=[0])
    limits = run.Limits(n_members=2, n_orders=2, seconds=seconds, is_tiny=True, adapter_dir=out.parent / "adapter")
    return run.run_study(cells, data_dir, {SMALL: BUNDLED}, out, limits)


def test_a_run_writes_each_cell_at_once_and_goes_on_after_a_stop(data_dir: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "results.jsonl", tmp_path / "page.md"
    results = run_tiny(data_dir, out)
    assert [r["cell"]["method"] for r in results] == [SCORING, GENERATION]  # type: ignore[index]
    lines = out.read_text(encoding="utf-8").splitlines()
    out.write_text(lines[0] + "\n", encoding="utf-8")  # as if stopped after the first cell
    again = run_tiny(data_dir, out)
    assert json.dumps(again[0]) == lines[0]
    assert len(again) == 2
    assert len(out.read_text(encoding="utf-8").splitlines()) == 2
    page.write_text("before\n<!-- table: jobs.study.report -->\nold\n<!-- end of table -->\nafter\n", encoding="utf-8")
    write_table(page, table(sorted_results([*again, *again])))
    text = page.read_text(encoding="utf-8")
    assert text.count("| small |") == 2
    assert (text.startswith("before\n"), text.endswith("after\n"), "old" in text) == (True, True, False)


def test_no_cell_begins_without_time_for_it(data_dir: Path, tmp_path: Path) -> None:
    assert run_tiny(data_dir, tmp_path / "results.jsonl", seconds=1.0) == []


def test_small_sizes_get_more_passes_and_both_methods_the_same() -> None:
    assert [passes_of(n) for n in (1_024, 65_536, 1_048_576)] == [16, 3, 2]
    cells = plan([1_024, 4_096], models=[SMALL], seeds=[0])
    assert [c.n_passes for c in cells if c.method == SCORING] == [c.n_passes for c in cells if c.method == GENERATION]


@given(content=st.binary(min_size=1, max_size=200), piece=st.integers(1, 90), seed=st.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_pieces_join_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, piece: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    (folder / "model").write_bytes(content)
    pieces = cut(folder / "model", folder / "part", piece_bytes=piece)
    random.Random(seed).shuffle(pieces)
    join(pieces, folder / "joined")
    assert (folder / "joined").read_bytes() == content


def test_a_missing_foreign_or_damaged_piece_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode() * 100)
        cut(tmp_path / name, tmp_path / f"{name}-part", piece_bytes=60)
    first, second, other = tmp_path / "a-part-1", tmp_path / "a-part-2", tmp_path / "b-part-2"
    with pytest.raises(DataError, match=r"pieces \[2\] of 2 are missing"):
        join([first], tmp_path / "out")
    with pytest.raises(DataError, match="different files"):
        join([first, other], tmp_path / "out")
    (second / "piece.bin").write_bytes(b"x" * 40)
    with pytest.raises(DataError, match="not the one that was cut"):
        join([first, second], tmp_path / "out")
    assert not (tmp_path / "out").exists()
