"""The SGLang engine with a stand-in for SGLang: requests, splits, and processes that die, hang or are left alone."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mis_scoring.core.cost import mis_tokens
from mis_scoring.core.errors import DataError, EngineDeadError, EngineError, MissingRequirementError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.readout import margins
from mis_scoring.engines.architecture import ArchitectureError
from mis_scoring.engines.requests import split_round
from mis_scoring.engines.servable import servable_faults
from mis_scoring.engines.sglang import SGLangEngine
from mis_scoring.engines.sglang_settings import SGLangSettings
from tests.ray.fake_engines import FakeEngine, Steering

FAKE = Path(__file__).resolve().parents[1] / "fake_sglang"
LABELS = LabelTokens(yes=270, no=271)
SERVABLE = {"model_type": "qwen3", "max_position_embeddings": 4096, "head_dim": 128, "vocab_size": 10_240}
QUERY, ITEMS = list(range(30)), [[1, 2], [3], [4, 5, 6], [7]]
Make = Callable[..., SGLangEngine]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "artifact"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SERVABLE))
    header = json.dumps({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [10_240, 1], "data_offsets": [0, 0]}})
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header.encode())
    return folder


@pytest.fixture
def steering(checkpoint: Path) -> Steering:
    return Steering(checkpoint)


@pytest.fixture
def make(checkpoint: Path, steering: Steering, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.syspath_prepend(str(FAKE))
    made: list[SGLangEngine] = []

    def start(**options: Any) -> SGLangEngine:
        made.append(SGLangEngine(checkpoint, **options))
        return made[-1]

    yield start
    for engine in made:
        engine.close()


def is_gone(pid: int) -> bool:
    """Whether a process ends, given time; a pidfd is readable once its process has ended."""
    try:
        with open(os.pidfd_open(pid), "rb", buffering=0) as process:
            return bool(select.select([process], [], [], 30)[0])
    except ProcessLookupError:
        return True


def expected(query: list[int], items: list[list[int]]) -> list[float]:
    return [FakeEngine("direct").margin(query, item) for item in items]


def test_scores_are_those_of_each_pair_from_plain_and_numpy_ids(make: Make) -> None:
    engine = make()
    plain = engine.label_logits(QUERY, ITEMS, LABELS)
    arrays = engine.label_logits(np.array(QUERY), [np.array(item, np.int32) for item in ITEMS], LABELS)
    assert plain.dtype == np.float32 and plain.shape == (4, 2)
    np.testing.assert_allclose(margins(plain), expected(QUERY, ITEMS), atol=1e-5)
    np.testing.assert_array_equal(arrays, plain)
    assert engine.label_logits(QUERY, [], LABELS).shape == (0, 2)


def test_a_round_that_does_not_fit_is_split_and_pays_for_its_query_again(make: Make, steering: Steering) -> None:
    engine = make(max_request_tokens=38, max_total_tokens=64)
    found = margins(engine.label_logits(QUERY, ITEMS, LABELS))
    np.testing.assert_allclose(found, expected(QUERY, ITEMS), atol=1e-5)
    assert steering.noted("requests") == ["30 2", "30 2"]
    lengths = [len(item) for item in ITEMS]
    assert engine.prefill_tokens(30, lengths) == mis_tokens(30, lengths) + 30 + 4 + 2  # a query, delimiters
    with pytest.raises(DataError, match="max 36"):
        engine.label_logits(QUERY, [[1] * 7], LABELS)


def test_every_part_of_a_split_fits_and_is_as_long_as_it_can_be() -> None:
    lengths = [3, 9, 1, 1, 7, 2, 10, 10, 4]
    parts = split_round(20, lengths, max_request_tokens=33, extra_per_item=1)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(len(lengths)))
    sizes = [21 + sum(length + 1 for length in lengths[part]) for part in parts]
    assert max(sizes) <= 33
    for part, size in zip(parts[:-1], sizes[:-1], strict=True):
        assert size + lengths[part.stop] + 1 > 33
    assert split_round(20, [], max_request_tokens=33) == []
    with pytest.raises(DataError, match="item 1 makes a request of 34"):
        split_round(20, [1, 12], max_request_tokens=33, extra_per_item=1)


def test_scores_alone_are_asked_with_what_right_scores_need(checkpoint: Path) -> None:
    arguments = SGLangSettings().engine_arguments(checkpoint)
    needed = {
        "enable_mis": True,
        "enable_fp32_lm_head": True,
        "attention_backend": "flashinfer",
        "disable_radix_cache": True,
        "chunked_prefill_size": -1,
        "trust_remote_code": False,
        "max_total_tokens": 98_304,
    }
    assert needed.items() <= arguments.items()


def test_all_options_that_are_wrong_are_named() -> None:
    with pytest.raises(DataError) as caught:
        SGLangSettings(dtype="float32", method="generate", memory_share=1.0, max_total_tokens=100)
    for name in ("dtype", "method", "memory_share", "max_total_tokens"):
        assert name in str(caught.value)
    with pytest.raises(DataError, match="no option batch; known: dtype"):
        SGLangSettings.of({"batch": 3})


def test_a_shape_that_sglang_would_get_wrong_is_refused(checkpoint: Path) -> None:
    assert servable_faults(SERVABLE) == []
    config = SERVABLE | {"head_dim": 80, "vocab_size": 9999, "sliding_window": 512}
    (checkpoint / "config.json").write_text(json.dumps(config))
    assert [fault.split()[0] for fault in servable_faults(config)] == ["head_dim", "vocab_size"]
    with pytest.raises(ArchitectureError, match="sliding_window"):
        SGLangEngine(checkpoint)


def test_without_sglang_the_error_says_what_is_needed(checkpoint: Path) -> None:
    with pytest.raises(MissingRequirementError, match=r"docs/gpu\.md"):
        SGLangEngine(checkpoint)


def test_without_a_gpu_the_error_names_the_setting(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(MissingRequirementError, match="gpus_per_engine"):
        make()


def test_an_engine_that_cannot_start_says_why_and_leaves_no_process(make: Make, steering: Steering) -> None:
    steering.order("refuse", after_requests=-1)
    with pytest.raises(EngineDeadError, match="no such attention backend"):
        make()
    assert steering.noted("workers") == []


def test_a_refused_request_is_an_error_and_the_engine_lives_on(make: Make, steering: Steering) -> None:
    engine = make()
    steering.order("refuse request", after_requests=0)
    with pytest.raises(EngineError, match="too long"):
        engine.label_logits(QUERY, ITEMS, LABELS)
    steering.recall("refuse request")
    assert len(engine.label_logits(QUERY, ITEMS, LABELS)) == 4


@pytest.mark.parametrize("what", ["die", "hang", "close", "start slowly"])
def test_however_an_engine_ends_its_whole_group_is_gone(make: Make, steering: Steering, what: str) -> None:
    if what == "start slowly":
        steering.order(what, after_requests=-1)
        with pytest.raises(EngineDeadError, match="did not answer in 3 s"):
            make(start_timeout_s=3.0)
    else:
        engine = make(request_timeout_s=1.0 if what == "hang" else 60.0)
        steering.order(what, after_requests=0)
        if what == "close":
            engine.close()
        for _ in range(2):  # it is not asked again
            with pytest.raises(EngineDeadError):
                engine.label_logits(QUERY, ITEMS, LABELS)
    (worker,) = map(int, steering.noted("workers"))
    (host,) = map(int, steering.noted("hosts"))
    assert is_gone(worker) and is_gone(host)


OWNER = """
import sys
from pathlib import Path
from mis_scoring.engines.sglang import SGLangEngine
engine = SGLangEngine(Path(sys.argv[1]))
print(engine.pid, flush=True)
sys.stdin.read()
"""


def test_a_killed_owner_leaves_no_process_on_the_gpu(checkpoint: Path, steering: Steering) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(FAKE), *sys.path])}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(checkpoint)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    assert owner.stdout is not None
    host = int(owner.stdout.readline())
    (worker,) = map(int, steering.noted("workers"))
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert is_gone(worker) and is_gone(host)
