"""Forwards over tiny checkpoints on a CPU, and plans of random requests."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mis_scoring.engines.prefill.engine import PrefillEngine
from mis_scoring.engines.prefill.plan import Limits, Part

SMALL = {"max_forward_tokens": 4_096, "token_budget": 2_048, "max_items": 400, "max_item_tokens": 200}
ON_CPU = {"device": "cpu", "dtype": "float32", **SMALL}
LIMITS = Limits(max_tokens=24_576, max_items=8_192, max_parts=256, max_item_tokens=8_192)
Make = Callable[..., PrefillEngine]


@pytest.fixture
def make_engine(request: pytest.FixtureRequest) -> Make:
    """Make engines on the CPU; they are closed at the end."""

    def make(folder: Path, **options: Any) -> PrefillEngine:
        engine = PrefillEngine(folder, **(ON_CPU | options))
        request.addfinalizer(engine.close)
        return engine

    return make


def part_of(query_tokens: int, item_tokens: Sequence[int], *, seed: int = 0, vocab_size: int = 320) -> Part:
    """A request of random tokens."""
    n_tokens = query_tokens + sum(item_tokens)
    token_ids = np.random.default_rng(seed).integers(0, vocab_size, n_tokens).astype(np.int32)
    lengths = np.asarray(item_tokens, np.int32)
    return Part(token_ids=token_ids, query_tokens=query_tokens, item_tokens=lengths, label_ids=(1, 2))
