"""SGLang's packed scores against the oracles, the canary on a real GPU, and engines that are broken or killed."""

import logging
import os
import select
import signal
from pathlib import Path

import numpy as np
import pytest

from mis_scoring.core.errors import EngineDeadError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.readout import margins
from mis_scoring.engines.canary import CanaryError, CanaryPairs, check_canary
from mis_scoring.engines.cascade import CascadeEngine
from mis_scoring.engines.dense import DenseEngine
from mis_scoring.engines.reference import ReferenceEngine
from mis_scoring.engines.sglang import SGLangEngine
from tests.gpu.conftest import LABELER, SMALL, command_of, group_of, request_of

log = logging.getLogger(__name__)
RAGGED = (1, 5, 3, 24, 9, 1, 70, 16, 17, 40, 2, 300)
MUTATIONS = Path(__file__).parent / "mutations"


@pytest.fixture(scope="module")
def reference() -> ReferenceEngine:
    return ReferenceEngine(LABELER, device="cuda", dtype="bfloat16")


def test_packed_scores_are_those_of_the_oracles_but_for_rounding(engine: SGLangEngine, labels: LabelTokens) -> None:
    dense, cascade = DenseEngine(LABELER, device="cuda"), CascadeEngine(LABELER)
    worst = 0.0
    for seed, n_query in enumerate((1, 17, 300, 2_000)):
        query, items = request_of(seed, RAGGED, query_tokens=n_query)
        packed = margins(engine.label_logits(query, items, labels))
        exact = margins(dense.label_logits(query, items, labels))
        assert np.abs(margins(cascade.label_logits(query, items, labels)) - exact).max() < 1e-3
        worst = max(worst, float(np.abs(packed - exact).max()))
        assert exact.max() - exact.min() > 1, "pairs that all score alike show nothing"
    log.info("bfloat16 packed against float32 dense: a margin moved by %.4f at most", worst)
    assert worst < engine.rounding


def test_the_canary_passes_and_the_reference_has_the_same_bits_in_any_company(
    engine: SGLangEngine, reference: ReferenceEngine, labels: LabelTokens, known_pairs: CanaryPairs
) -> None:
    log.info("canary: %s", check_canary(engine, reference, labels, pairs=known_pairs))
    query, items = request_of(7, RAGGED * 4, query_tokens=150)
    together = reference.label_logits(query, items, labels)
    assert np.array_equal(together, reference.label_logits(query, items[::-1], labels)[::-1])
    assert np.array_equal(together[5:6], reference.label_logits(query, items[5:6], labels))


def test_a_second_engine_on_the_gpu_splits_a_round_and_agrees(engine: SGLangEngine, labels: LabelTokens) -> None:
    query, items = request_of(8, [20] * 100, query_tokens=200)
    whole = margins(engine.label_logits(query, items, labels))
    second = SGLangEngine(LABELER, **(SMALL | {"max_request_tokens": 700, "max_total_tokens": 2_000}))
    try:
        split = margins(second.label_logits(query, items, labels))
        assert second.prefill_tokens(200, [20] * 100) == 5 * 201 + 100 * 21
    finally:
        second.close()
    assert np.abs(split - whole).max() < engine.rounding


@pytest.mark.parametrize("broken", ["leak", "positions", "readout", "equal"])
def test_the_canary_catches_an_sglang_that_is_broken(
    broken: str,
    reference: ReferenceEngine,
    labels: LabelTokens,
    known_pairs: CanaryPairs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SEMLABEL_BREAK", broken)
    monkeypatch.syspath_prepend(str(MUTATIONS))
    wrong = SGLangEngine(LABELER, **SMALL)
    try:
        with pytest.raises(CanaryError) as caught:
            check_canary(wrong, reference, labels, pairs=known_pairs)
        log.info("%s: %s", broken, caught.value.faults)
    finally:
        wrong.close()


def test_a_killed_scheduler_is_seen_and_nothing_of_its_engine_is_left(labels: LabelTokens) -> None:
    query, items = request_of(9, [8] * 20, query_tokens=100)
    killed = SGLangEngine(LABELER, **SMALL)
    assert len(killed.label_logits(query, items, labels)) == 20
    members = group_of(killed.pid)
    (scheduler,) = [pid for pid in members if "scheduler" in command_of(pid)]
    handles = [os.pidfd_open(pid) for pid in members]
    os.kill(scheduler, signal.SIGKILL)
    with pytest.raises(EngineDeadError):
        killed.label_logits(query, items, labels)
    for handle in handles:
        assert select.select([handle], [], [], 60)[0], "a process of the group lives on"
        os.close(handle)
