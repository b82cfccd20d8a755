"""Labels per second of the CPU engines on this machine: `python -m mis_scoring.bench`.

Each cell is the best of the repeats (other work on the machine only ever slows one down), engines in turn, so that a
busy moment hits all of them. Independent scoring costs the same for every pair, so it is timed on at most
`INDEPENDENT_PAIRS` of them.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mis_scoring.core.cost import packed_generation_tokens, reduction_factor
from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.engines.dense import ITEMS_PER_PASS
from mis_scoring.engines.registry import make_engine

QUERY_TOKENS = 744  # the paper's typical profile
ITEM_TOKENS = 24
ROUND_SIZES = (1, 20, 50, 200)
ENGINES = ("single", "dense", "cascade")
INDEPENDENT_PAIRS = 8
DEFAULT_CHECKPOINT = Path("labelers/esco-small")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measurement: `tokens` were prefilled for `n_items` labels in `seconds_s`, at 2 * parameters a token."""

    engine: str
    n_items: int
    n_timed: int
    seconds_s: float
    labels_per_s: float
    tokens: int
    gflop: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        report = measure(_checkpoint(options.checkpoint, Path(scratch)), options)
    sys.stdout.write((json.dumps(report, indent=2) if options.json else as_text(report)) + "\n")
    return 0


def measure(checkpoint: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Time every engine at every number of items."""
    engines = {name: make_engine(name, checkpoint, threads=options.threads) for name in ENGINES}
    shape = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    parameters = layer_parameters(shape)
    cells = [cell for n in options.items for cell in _cells(engines, n, parameters, options.repeats)]
    largest = max(options.items)
    rate = {cell.engine: cell.labels_per_s for cell in cells if cell.n_items == largest}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(engines["cascade"]),
        "model": _model(shape, options.checkpoint, parameters),
        "query_tokens": QUERY_TOKENS,
        "item_tokens": ITEM_TOKENS,
        "repeats": options.repeats,
        "cells": [asdict(cell) for cell in cells],
        "largest_n": largest,
        "cascade_over_independent": rate["cascade"] / rate["single"],
        "reduction_factor": reduction_factor(QUERY_TOKENS, [ITEM_TOKENS] * largest),
    }


def layer_parameters(shape: dict[str, Any]) -> int:
    """Return the parameters of the layers' matrices, embedding and head left out, from a config.json."""
    hidden, heads = shape["hidden_size"], shape["num_attention_heads"]
    size = shape.get("head_dim") or hidden // heads
    attention = 2 * hidden * size * (heads + shape["num_key_value_heads"])
    return int(shape["num_hidden_layers"] * (attention + 3 * hidden * shape["intermediate_size"]))


def as_text(report: dict[str, Any]) -> str:
    """Return the table that a person reads."""
    rate = {(cell["engine"], cell["n_items"]): cell for cell in report["cells"]}
    sizes = sorted({cell["n_items"] for cell in report["cells"]})
    lines = [
        f"{report['date']}  " + ", ".join(f"{k} {v}" for k, v in report["machine"].items()),
        "model: " + ", ".join(f"{k} {v}" for k, v in report["model"].items()),
        f"query {report['query_tokens']} tokens, items {report['item_tokens']} tokens, best of {report['repeats']}",
        "",
        f"{'labels/s':<22}" + "".join(f"{f'N={n}':>10}" for n in sizes) + f"{'GFLOP at N=' + str(sizes[-1]):>20}",
    ]
    for name in ENGINES:
        rates = "".join(f"{rate[name, n]['labels_per_s']:>10.1f}" for n in sizes)
        lines.append(f"{'independent' if name == 'single' else name:<22}{rates}{rate[name, sizes[-1]]['gflop']:>20.1f}")
    lines += [
        "",
        f"cascade / independent at N={report['largest_n']}: {report['cascade_over_independent']:.1f}x; "
        f"tokens saved, R(N) of equation 5: {report['reduction_factor']:.1f}x",
        "GFLOP: 2 * parameters of the layers * prefilled tokens; attention scores are not in it",
    ]
    return "\n".join(lines)


def _cells(engines: dict[str, Engine], n_items: int, parameters: int, repeats: int) -> list[Cell]:
    best = {name: float("inf") for name in engines}
    timed = {name: min(n_items, INDEPENDENT_PAIRS) if name == "single" else n_items for name in engines}
    query, items = _request(n_items)
    for _ in range(repeats):
        for name, engine in engines.items():
            best[name] = min(best[name], _seconds(engine, query, items[: timed[name]]))
    return [_cell(name, n_items, timed[name], best[name], parameters) for name in engines]


def _cell(engine: str, n_items: int, n_timed: int, seconds_s: float, parameters: int) -> Cell:
    per_pass = {"single": 1, "dense": ITEMS_PER_PASS, "cascade": n_items}[engine]
    tokens = packed_generation_tokens(QUERY_TOKENS, [ITEM_TOKENS] * n_items, items_per_prompt=per_pass)
    return Cell(
        engine=engine,
        n_items=n_items,
        n_timed=n_timed,
        seconds_s=seconds_s,
        labels_per_s=n_timed / seconds_s,
        tokens=tokens,
        gflop=2e-9 * parameters * tokens,
    )


def _request(n_items: int) -> tuple[TokenIds, list[TokenIds]]:
    draw = np.random.default_rng(n_items)
    tokens = draw.integers(0, 256, QUERY_TOKENS + n_items * ITEM_TOKENS).tolist()
    starts = range(QUERY_TOKENS, len(tokens), ITEM_TOKENS)
    return tokens[:QUERY_TOKENS], [tokens[s : s + ITEM_TOKENS] for s in starts]


def _seconds(engine: Engine, query: TokenIds, items: Sequence[TokenIds]) -> float:
    started = time.perf_counter()
    engine.label_logits(query, items, LabelTokens(yes=1, no=2))
    return time.perf_counter() - started


def _machine(engine: Engine) -> dict[str, str]:
    fingerprint = {k: v for k, v in engine.fingerprint.items() if k not in ("engine", "device")}
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {**fingerprint, "cores": str(os.cpu_count()), "load": load, "python": platform.python_version()}


def _model(shape: dict[str, Any], folder: Path | None, parameters: int) -> dict[str, Any]:
    sizes = {"layers": shape["num_hidden_layers"], "hidden": shape["hidden_size"], "layer parameters": parameters}
    return {"type": shape["model_type"], "from": str(folder) if folder else "random weights", **sizes}


def _checkpoint(asked: Path | None, scratch: Path) -> Path:
    return asked if asked is not None else write_random_decoder(scratch)


def write_random_decoder(folder: Path) -> Path:
    """Write a Qwen3-shaped decoder with random weights, of the size of the sample's labeler."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=10_240,
        hidden_size=192,
        intermediate_size=704,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=128,
        max_position_embeddings=4_096,
        tie_word_embeddings=True,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.bench", description="Labels per second by engine.")
    default = DEFAULT_CHECKPOINT if (DEFAULT_CHECKPOINT / "config.json").exists() else None
    parser.add_argument("--checkpoint", type=Path, default=default, help="a checkpoint folder; default %(default)s")
    parser.add_argument("--threads", type=int, default=None, help="torch's threads; default: torch's own choice")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each cell, of which the best counts")
    parser.add_argument("--items", type=int, nargs="+", default=ROUND_SIZES, help="numbers of items, N")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser
