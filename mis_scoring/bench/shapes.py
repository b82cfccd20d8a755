"""The shapes of the paper's models with random weights, its workload, and what a label costs at the least.

Sources: arXiv 2610.36383 (queries log-normal: median 543, mean 744, 95% under 2,047 tokens; N = 200; items of 24 and 28
tokens), config.json of Qwen2.5-1.5B and of Qwen3-0.6B.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

QUERY_MEDIAN, QUERY_SIGMA = 543, 0.794  # mean 543 * exp(sigma^2 / 2) = 744
LONGEST_QUERY = 8_192

SHAPES: Mapping[str, dict[str, Any]] = {
    "1.5B": {
        "model_type": "qwen2",
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "rope_theta": 1e6,
        "vocab_size": 151_936,
    },
    "0.6B": {
        "model_type": "qwen3",
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "rope_theta": 1e6,
        "vocab_size": 151_936,
    },
}


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one request needs at the least: floating-point operations, and bytes that must pass the memory.

    Attributes:
        flops: 2 a weight and token, and 4 * head_dim a head and (token, seen token) pair; no head, no norms.
        weight_bytes: the layers' weights, once a forward pass, whatever it holds.
        token_bytes: in bfloat16 and unfused: a token's hidden states, queries, keys, values and gates, each written and
            read once a layer.
    """

    flops: float
    weight_bytes: int
    token_bytes: int


def cost_of(shape: Mapping[str, Any], query_tokens: int, item_tokens: Sequence[int]) -> Cost:
    """Return the least cost of one packed request."""
    hidden, layers, heads = (shape[k] for k in ("hidden_size", "num_hidden_layers", "num_attention_heads"))
    size = shape.get("head_dim") or hidden // heads
    kv, gate = shape["num_key_value_heads"], shape["intermediate_size"]
    weights = layers * (2 * hidden * size * (heads + kv) + 3 * hidden * gate)
    tokens = query_tokens + sum(item_tokens)
    seen = query_tokens * (query_tokens + 1) // 2 + sum(n * query_tokens + n * (n + 1) // 2 for n in item_tokens)
    a_token = 2 * 2 * layers * (4 * hidden + size * (2 * heads + 2 * kv) + 3 * gate)
    return Cost(
        flops=2.0 * weights * tokens + 4.0 * layers * heads * size * seen,
        weight_bytes=2 * weights,
        token_bytes=a_token * tokens,
    )


def draw_query_lengths(n: int, *, seed: int) -> list[int]:
    """Return the paper's query lengths."""
    drawn = np.random.default_rng(seed).lognormal(np.log(QUERY_MEDIAN), QUERY_SIGMA, n)
    lengths: list[int] = np.clip(drawn, 16, LONGEST_QUERY).astype(int).tolist()
    return lengths


def write_random_model(folder: Path, name: str, *, device: str = "cuda", tokenizer_json: Path | None = None) -> Path:
    """Write config.json and random weights in bfloat16: nothing sensible, at the speed of the real ones."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    shape = dict(SHAPES[name])
    config = AutoConfig.for_model(
        shape.pop("model_type"), max_position_embeddings=32_768, tie_word_embeddings=True, **shape
    )
    torch.manual_seed(0)
    with torch.device(device):
        model: Any = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if tokenizer_json is not None:
        shutil.copyfile(tokenizer_json, folder / "tokenizer.json")
    return folder
