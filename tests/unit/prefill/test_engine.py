"""The dedicated engine on a CPU: the oracles' logits, the same bits in any company, and what it does when it cannot."""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from mis_scoring.core.engine import Engine
from mis_scoring.core.errors import DataError, EngineDeadError, MissingRequirementError, MissingScoreError
from mis_scoring.core.readout import FloatArray, margins
from mis_scoring.engines.canary import CanaryError, check_canary
from mis_scoring.engines.cascade import CascadeEngine
from mis_scoring.engines.dense import DenseEngine
from mis_scoring.engines.pair_scores import PairScorer
from mis_scoring.engines.prefill.engine import PrefillEngine
from mis_scoring.engines.prefill.kernels.plain import PlainKernels
from mis_scoring.engines.prefill.plan import ForwardPlan, Part
from mis_scoring.engines.registry import make_engine
from mis_scoring.engines.single import SingleItemEngine
from tests.unit.conftest import LABELS, UNEQUAL_LENGTHS, draw_request
from tests.unit.prefill.conftest import ON_CPU, Make

ROUNDING = 1e-5


class Launches:
    """The forwards of an engine, which wait until a test opens them.

    Attributes:
        n_parts: of each.
    """

    def __init__(self, engine: PrefillEngine) -> None:
        self.n_parts: list[int] = []
        self._is_open, self._submitted = threading.Event(), threading.Semaphore(0)
        batcher = engine._batcher
        self._launch, self._submit = engine._runner.launch, batcher.submit
        batcher._runner.launch, batcher.submit = self._launch_late, self._submit_counted  # type: ignore[method-assign]

    def wait_for(self, n_submitted: int) -> None:
        for _ in range(n_submitted):
            assert self._submitted.acquire(timeout=60)

    def open(self, n_submitted: int) -> None:
        """Let forwards go once so many more requests are there."""
        self.wait_for(n_submitted)
        self._is_open.set()

    def _launch_late(self, slot: int, plan: ForwardPlan) -> None:
        self._is_open.wait()
        self.n_parts.append(len(plan.part_items) - 1)
        self._launch(slot, plan)

    def _submit_counted(self, part: Part) -> "Future[FloatArray]":
        answer = self._submit(part)
        self._submitted.release()
        return answer


@pytest.mark.parametrize("attention", ["reference", "tiled"])
def test_packed_logits_are_those_of_the_oracles(checkpoint: Path, make_engine: Make, attention: str) -> None:
    engine = make_engine(checkpoint, attention=attention, verify=False)
    for seed, n_query in enumerate((1, 57, 130)):
        query, items = draw_request(seed, UNEQUAL_LENGTHS, query_tokens=n_query)
        found = engine.label_logits(query, items, LABELS)
        assert found.dtype == np.float32 and found.std() > 0.1
        for oracle in (DenseEngine(checkpoint), CascadeEngine(checkpoint)):
            assert np.abs(found - oracle.label_logits(query, items, LABELS)).max() < ROUNDING


def test_in_bfloat16_it_stays_near_the_same_model_in_float32(checkpoint: Path, make_engine: Make) -> None:
    engine = make_engine(checkpoint, dtype="bfloat16", verify=False)
    query, items = draw_request(1, UNEQUAL_LENGTHS)
    moved = engine.label_logits(query, items, LABELS) - DenseEngine(checkpoint).label_logits(query, items, LABELS)
    assert 0 < np.abs(moved).max() < 0.3


@pytest.fixture(scope="module")
def tiled(qwen3: Path) -> PrefillEngine:
    """The Hopper kernel's algorithm, with the claim verified."""
    return PrefillEngine(qwen3, attention="tiled", **ON_CPU)


def test_the_claim_is_verified_at_the_start_and_said(tiled: PrefillEngine) -> None:
    assert tiled.batch_invariant and tiled.fingerprint["batch_invariant"] == "verified"
    assert tiled.fingerprint["attention"] == "tiled" and tiled.fingerprint["kernels"] == "torch"


def test_a_pair_has_the_same_bits_in_any_company(tiled: PrefillEngine) -> None:
    draw = np.random.default_rng(0)
    drawn = [draw_request(seed, UNEQUAL_LENGTHS * 3, query_tokens=n) for seed, n in ((1, 57), (2, 130), (3, 90))]
    alone = [tiled.label_logits(*request, LABELS) for request in drawn]
    for number in range(6):
        chosen = draw.permutation(3)[: 1 + number % 3]
        orders = [draw.permutation(27)[: (27, 1, 7)[number % 3]] for _ in chosen]
        with ThreadPoolExecutor(3) as pool:  # side by side: they may share a forward
            asked = [
                pool.submit(tiled.label_logits, drawn[place][0], [drawn[place][1][i] for i in order], LABELS)
                for place, order in zip(chosen, orders, strict=True)
            ]
        for place, order, answer in zip(chosen, orders, asked, strict=True):
            assert np.array_equal(answer.result(), alone[place][order])


def test_the_canary_allows_an_invariant_engine_no_difference_in_company(
    tiled: PrefillEngine, qwen3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    differences = check_canary(tiled, SingleItemEngine(qwen3), LABELS)
    assert {name for name, moved in differences.items() if moved} <= {"against single"}
    monkeypatch.setattr(tiled, "label_logits", _nudged_by_place(tiled))
    with pytest.raises(CanaryError, match=r"permuted: a margin moved by .*, allowed 0"):
        check_canary(tiled, SingleItemEngine(qwen3), LABELS)


def _nudged_by_place(engine: Engine):  # type: ignore[no-untyped-def]
    plain = engine.label_logits

    def nudged(*request):  # type: ignore[no-untyped-def]
        logits = plain(*request)
        logits[:, 0] += 1e-6 * np.arange(len(logits), dtype=np.float32)
        return logits

    return nudged


def test_no_pair_of_an_invariant_engine_goes_to_the_reference(tiled: PrefillEngine, qwen3: Path) -> None:
    query, items = draw_request(5, UNEQUAL_LENGTHS)
    scorer = PairScorer(
        engine=tiled, reference=SingleItemEngine(qwen3), label_tokens=LABELS, threshold=0.5, tie_eps=1e9
    )
    assert scorer.score(query, items).tie_tokens == 0


def test_a_claim_that_does_not_hold_is_withdrawn_and_the_tie_rule_decides(
    qwen3: Path, make_engine: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plain = PlainKernels.add_linear

    def by_rows(self: PlainKernels, rows, linear, x) -> None:  # type: ignore[no-untyped-def]
        plain(self, rows, linear, x)
        if len(x) > 1_040:
            x.mul_(1 + 2**-20)

    monkeypatch.setattr(PlainKernels, "add_linear", by_rows)
    with caplog.at_level(logging.WARNING):
        engine = make_engine(qwen3, attention="tiled")
    assert not engine.batch_invariant and engine.fingerprint["batch_invariant"].startswith("withdrawn")
    assert any("o of tokens" in line and "other bits" in line for line in caplog.messages)
    query, items = draw_request(5, UNEQUAL_LENGTHS)
    reference = SingleItemEngine(qwen3)
    scorer = PairScorer(engine=engine, reference=reference, label_tokens=LABELS, threshold=0.5, tie_eps=1e9)
    assert scorer.score(query, items).is_reference.all()


def test_a_value_that_is_not_finite_fails_its_forward_by_name_and_leaves_nothing_behind(
    qwen3: Path, make_engine: Make
) -> None:
    engine = make_engine(qwen3, attention="tiled", verify=False)
    query, items = draw_request(6, UNEQUAL_LENGTHS)
    sound = engine.label_logits(query, items, LABELS)
    table = engine._runner.forward.weights.embedding
    wrong = 319
    assert wrong not in query and all(wrong not in item for item in items)
    with torch.inference_mode():
        table[wrong] = float("nan")
    with pytest.raises(MissingScoreError, match="layer 0, its input") as missing:
        engine.label_logits(query, [*items, [wrong, 3]], LABELS)
    assert missing.value.item_rows == list(range(len(items) + 1))
    assert np.array_equal(engine.label_logits(query, items, LABELS), sound)


def test_neighbours_of_a_request_with_a_value_that_is_not_finite_get_their_scores(
    qwen3: Path, make_engine: Make, caplog: pytest.LogCaptureFixture
) -> None:
    engine = make_engine(qwen3, attention="tiled", verify=False)
    query, items = draw_request(6, UNEQUAL_LENGTHS)
    sound = engine.label_logits(query, items, LABELS)
    with torch.inference_mode():
        engine._runner.forward.weights.embedding[319] = float("nan")
    launched = Launches(engine)
    with ThreadPoolExecutor(3) as pool, caplog.at_level(logging.WARNING):
        first = pool.submit(engine.label_logits, query, items[:1], LABELS)  # the others meet behind it
        launched.wait_for(1)
        others = [pool.submit(engine.label_logits, query, asked, LABELS) for asked in ([*items, [319]], items)]
        launched.open(len(others))
        assert np.array_equal(first.result(), sound[:1]) and np.array_equal(others[1].result(), sound)
        with pytest.raises(MissingScoreError):
            others[0].result()
    assert launched.n_parts == [1, 2, 1, 1] and "each goes again, alone" in caplog.text


def test_callers_share_forwards_and_each_gets_its_own_rows(qwen3: Path, make_engine: Make) -> None:
    engine = make_engine(qwen3, verify=False, token_budget=700)
    launched = Launches(engine)
    drawn = [draw_request(seed, UNEQUAL_LENGTHS, query_tokens=20 + seed) for seed in range(12)]
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(engine.label_logits, *request, LABELS) for request in drawn]
        launched.open(len(drawn))
        found = [answer.result() for answer in asked]
    oracle = CascadeEngine(qwen3)
    for request, logits in zip(drawn, found, strict=True):
        assert np.abs(logits - oracle.label_logits(*request, LABELS)).max() < ROUNDING
    assert sum(launched.n_parts) == 12 and max(launched.n_parts) == 4


def test_a_round_longer_than_a_forward_is_split_and_pays_for_its_query_again(qwen3: Path, make_engine: Make) -> None:
    engine = make_engine(qwen3, verify=False, max_forward_tokens=1_100, token_budget=1_100)
    query, items = draw_request(7, [20] * 60, query_tokens=200)
    found = engine.label_logits(query, items, LABELS)
    assert np.abs(margins(found) - margins(CascadeEngine(qwen3).label_logits(query, items, LABELS))).max() < 1e-4
    assert engine.prefill_tokens(200, [20] * 60) == 2 * 200 + 60 * 20


def test_requests_that_cannot_be_scored_say_what_is_wrong(qwen3: Path, make_engine: Make) -> None:
    engine = make_engine(qwen3, verify=False, max_item_tokens=10)
    with pytest.raises(DataError, match="item 1 has 11 tokens; max_item_tokens is 10"):
        engine.label_logits([1], [[2], [3] * 11], LABELS)
    with pytest.raises(DataError, match="item 0 is empty"):
        engine.label_logits([1], [[]], LABELS)
    assert engine.label_logits([1], [], LABELS).shape == (0, 2)
    assert engine.max_tokens == 256
    engine.close()
    with pytest.raises(EngineDeadError, match="closed"):
        engine.label_logits([1], [[2]], LABELS)


def test_options_are_checked_at_once(qwen3: Path) -> None:
    with pytest.raises(DataError, match="no option colour"):
        make_engine("prefill", qwen3, colour="red")
    with pytest.raises(DataError) as caught:
        make_engine("prefill", qwen3, dtype="float16", memory_share=2, token_budget=10**6, max_forward_tokens=10**6)
    assert str(caught.value).count("\n") == 3
    with pytest.raises(DataError, match=r"attention 'hopper' needs compute capability 9.0"):
        make_engine("prefill", qwen3, attention="hopper", **ON_CPU)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(qwen3: Path) -> None:
    with pytest.raises(MissingRequirementError, match="finds no GPU"):
        make_engine("prefill", qwen3)
