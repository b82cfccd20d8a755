"""Tiny checkpoints with random weights, and a browser; each made once a session."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

from mis_scoring.core.labels import LabelTokens, TokenIds

if TYPE_CHECKING:
    from playwright.sync_api import Browser

VOCAB_SIZE = 320
LABELS = LabelTokens(yes=270, no=271)
UNEQUAL_LENGTHS = (1, 5, 3, 24, 9, 1, 70, 16, 17)

settings.register_profile("unit", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("unit")


def write_checkpoint(folder: Path, model_type: str, **changes: Any) -> Path:
    """Write a decoder of two layers; large weights, so that a wrong mask moves margins by far more than rounding."""
    import torch
    from transformers import (
        LlamaConfig,
        LlamaForCausalLM,
        Qwen2Config,
        Qwen2ForCausalLM,
        Qwen3Config,
        Qwen3ForCausalLM,
    )

    config_type, model = {
        "qwen3": (Qwen3Config, Qwen3ForCausalLM),
        "qwen2": (Qwen2Config, Qwen2ForCausalLM),
        "llama": (LlamaConfig, LlamaForCausalLM),
    }[model_type]
    torch.set_num_threads(1)  # models this small only wait for each other's threads
    torch.manual_seed(7)
    sizes = {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 256,
        "initializer_range": 0.2,
    }
    decoder: Any = model(config_type(**(sizes | changes)))
    for name, parameter in decoder.named_parameters():
        if name.endswith(".bias"):  # transformers starts them at 0, where a lost one would not show
            torch.nn.init.normal_(parameter, std=0.5)
    decoder.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session", params=["qwen3", "llama", "qwen2"])
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="session")
def qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("qwen3_alone"), "qwen3")


def draw_tokens(seed: int, *lengths: int) -> list[list[int]]:
    """Return random token ids, one list a length."""
    draw = np.random.default_rng(seed)
    return [draw.integers(0, VOCAB_SIZE, length).tolist() for length in lengths]


def draw_request(seed: int, item_lengths: Sequence[int], *, query_tokens: int = 57) -> tuple[TokenIds, list[TokenIds]]:
    """Return a random query and items."""
    query, *items = draw_tokens(seed, query_tokens, *item_lengths)
    return query, list(items)


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A Chromium; Playwright keeps an event loop running in this thread for as long as the fixture lives."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium: infra/local/install_debian_packages.sh installs it, as root")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium)
        yield launched
        launched.close()
