"""The dedicated engine on a real GPU with the bundled labeler: the oracles' scores, and bits that are a pair's own."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from mis_scoring.core.errors import MissingScoreError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.readout import margins
from mis_scoring.engines.canary import CanaryPairs, check_canary
from mis_scoring.engines.dense import DenseEngine
from mis_scoring.engines.prefill.calibrate import calibrated_profile, write_profile
from mis_scoring.engines.prefill.engine import PrefillEngine
from mis_scoring.engines.prefill.known_requests import draw_requests
from mis_scoring.engines.reference import ReferenceEngine
from tests.gpu.conftest import LABELER, request_of

log = logging.getLogger(__name__)
RAGGED = (1, 5, 3, 24, 9, 1, 70, 16, 17, 40, 2, 300)


@pytest.fixture(scope="module")
def prefill() -> Iterator[PrefillEngine]:
    started = PrefillEngine(LABELER)
    yield started
    started.close()


def test_packed_scores_are_those_of_the_oracle_but_for_rounding(prefill: PrefillEngine, labels: LabelTokens) -> None:
    dense, worst = DenseEngine(LABELER, device="cuda"), 0.0
    for seed, n_query in enumerate((1, 17, 300, 2_000)):
        query, items = request_of(seed, RAGGED, query_tokens=n_query)
        exact = margins(dense.label_logits(query, items, labels))
        found = margins(prefill.label_logits(query, items, labels))
        worst = max(worst, float(np.abs(found - exact).max()))
        assert exact.max() - exact.min() > 1, "pairs that all score alike show nothing"
    log.info("bfloat16 packed against float32 dense: a margin moved by %.4f at most", worst)
    assert worst < prefill.rounding


def test_on_hopper_the_claim_is_verified_and_the_canary_allows_nothing_in_company(
    prefill: PrefillEngine, labels: LabelTokens, known_pairs: CanaryPairs
) -> None:
    log.info("%s", dict(prefill.fingerprint))
    if torch.cuda.get_device_capability() == (9, 0):
        assert prefill.batch_invariant and prefill.fingerprint["attention"] == "hopper"
    log.info("canary: %s", check_canary(prefill, ReferenceEngine(LABELER, device="cuda", dtype="bfloat16"), labels))
    check_canary(prefill, ReferenceEngine(LABELER, device="cuda", dtype="bfloat16"), labels, pairs=known_pairs)


def test_a_pair_has_the_same_bits_in_any_company(prefill: PrefillEngine, labels: LabelTokens) -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the claim is Hopper's")
    draw = np.random.default_rng(0)
    known = draw_requests(12, n_items=200, max_prompt=prefill.max_tokens, vocab_size=10_000)
    alone = [prefill.label_logits(*request, labels) for request in known]
    groups = [(int(draw.integers(12)), draw.permutation(200)[: draw.choice([1, 7, 50, 200])]) for _ in range(200)]
    with ThreadPoolExecutor(prefill.n_concurrent) as pool:
        asked = [
            pool.submit(prefill.label_logits, known[member][0], [known[member][1][i] for i in order], labels)
            for member, order in groups
        ]
    for (member, order), answer in zip(groups, asked, strict=True):
        assert np.array_equal(answer.result(), alone[member][order])


def test_long_shapes_are_scored(prefill: PrefillEngine, labels: LabelTokens) -> None:
    query, items = request_of(1, [24] * 2_000, query_tokens=744)
    whole = prefill.label_logits(query, items, labels)
    assert whole.shape == (2_000, 2) and np.isfinite(whole).all()
    assert np.abs(prefill.label_logits(query, items[-3:], labels) - whole[-3:]).max() < prefill.rounding
    query, items = request_of(2, [150] * 50, query_tokens=3_900)
    assert np.isfinite(prefill.label_logits(query, items, labels)).all()


def test_a_nan_fails_its_forward_and_the_next_one_is_sound(prefill: PrefillEngine, labels: LabelTokens) -> None:
    query, items = request_of(3, RAGGED, query_tokens=300)
    sound = prefill.label_logits(query, items, labels)
    table = prefill._runner.forward.weights.embedding
    wrong = 10_200  # no text has it
    kept = table[wrong].clone()
    table[wrong] = float("nan")
    torch.cuda.synchronize()
    try:
        with pytest.raises(MissingScoreError, match="layer 0, its input"):
            prefill.label_logits(query, [*items, [wrong]], labels)
        found = prefill.label_logits(query, items, labels)
    finally:
        table[wrong] = kept
    assert np.array_equal(found, sound) or not prefill.batch_invariant


@pytest.mark.parametrize("quantisation", ["fp8-mlp", "fp8-all"])
def test_fp8_of_a_calibrated_copy_is_near_bfloat16(
    quantisation: str, prefill: PrefillEngine, labels: LabelTokens, tmp_path: Path
) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes((LABELER / name).read_bytes())
    known = draw_requests(8, n_items=50, max_prompt=prefill.max_tokens, vocab_size=10_000)
    write_profile(tmp_path, calibrated_profile(LABELER, known[:4], labels, quantisation=quantisation))
    engine = PrefillEngine(tmp_path, quantisation=quantisation)
    try:
        moved = [
            margins(engine.label_logits(*request, labels)) - margins(prefill.label_logits(*request, labels))
            for request in known[4:]
        ]
        log.info("%s moves a margin by %.3f at most; %s", quantisation, np.abs(moved).max(), dict(engine.fingerprint))
        assert 0 < np.abs(moved).max() < 8
        assert engine.batch_invariant == prefill.batch_invariant
    finally:
        engine.close()
