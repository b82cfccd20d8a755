"""Tests of the real engines, on a machine with a GPU: `python -m pytest tests/gpu` (docs/gpu.md); SGLang's need it."""

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.canary import CanaryPairs, canary_pairs
from mis_scoring.engines.sglang import SGLangEngine

LABELER = Path(__file__).resolve().parents[2] / "labelers" / "esco-small"
SMALL = {"max_total_tokens": 40_000, "max_request_tokens": 20_000, "memory_share": 0.3}


def missing(test: Path) -> str:
    """What a file of this folder lacks here; empty: nothing."""
    if not test.name.startswith("test_prefill") and importlib.util.find_spec("sglang") is None:
        return "SGLang is not installed"
    import torch

    return "" if torch.cuda.is_available() else "there is no GPU"


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    reasons = {path: missing(path) for path in {item.path for item in here}}
    for item in here:
        if reasons[item.path]:
            item.add_marker(pytest.mark.skip(reason=f"needs a GPU, and SGLang for its own: {reasons[item.path]}"))


@pytest.fixture(scope="session")
def labels() -> LabelTokens:
    artifact = LabelerArtifact.load(LABELER)
    tokenizer = PromptTokenizer(LABELER / "tokenizer.json", artifact.prompt)
    return tokenizer.label_tokens(artifact.label_tokens["yes"], artifact.label_tokens["no"])


@pytest.fixture(scope="session")
def known_pairs() -> CanaryPairs:
    """The canary's, as the score stage asks them."""
    artifact = LabelerArtifact.load(LABELER)
    return canary_pairs(item_suffix=PromptTokenizer(LABELER / "tokenizer.json", artifact.prompt).item_suffix)


@pytest.fixture(scope="session")
def engine() -> Iterator[SGLangEngine]:
    started = SGLangEngine(LABELER, **SMALL)
    yield started
    started.close()


@pytest.fixture(scope="session")
def gpu_labeler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model as an artifact of bfloat16 scores."""
    from mis_scoring.engine_check import write_variant

    folder = tmp_path_factory.mktemp("gpu") / "labeler"
    write_variant(LabelerArtifact.load(LABELER), LABELER, folder, dtype="bfloat16", tie_eps=0.5, tie={})
    return folder


def request_of(seed: int, lengths: Sequence[int], *, query_tokens: int) -> tuple[TokenIds, list[TokenIds]]:
    """A request of random tokens that the bundled vocabulary has."""
    draw = np.random.default_rng(seed)
    query, *items = (draw.integers(0, 10_000, length).tolist() for length in (query_tokens, *lengths))
    return query, items


def texts_of(folder: Path, n_members: int, n_items: int) -> list[dict[str, Any]]:
    """Rows of the score stage with texts that differ from member to member."""
    from mis_scoring.core.identity import text_hash

    layout = LabelerArtifact.load(folder).prompt
    items = [layout.render_item(f"can do number {number}") for number in range(n_items)]
    rows = []
    for member in range(n_members):
        query = layout.render_query(f"Nurse for {member} years. " * (1 + member % 30))
        rows.append({"member_id": f"m{member:05}", "query_text": query, "query_hash": text_hash(query)})
        rows[-1] |= {"item_texts": items, "item_ids": items, "item_hashes": [text_hash(item) for item in items]}
    return rows


def group_of(leader: int) -> list[int]:
    """All processes of a group."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(ValueError, ProcessLookupError):
            if os.getpgid(int(entry.name)) == leader:
                found.append(int(entry.name))
    return found


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
