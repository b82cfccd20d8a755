"""Run one cell: make the base, train it on the cell's pairs, judge it on the held-out members."""

import logging
import platform
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jobs.study.cells import BUNDLED, LORA, SCORING, SMALL, SMOLLM2_135M, Cell
from jobs.study.flops import ForwardCost, training_flops
from jobs.study.measure import measure_generation, measure_scoring
from jobs.study.members_file import first_pairs, read_members
from jobs.study.models import base_of
from jobs.study.slices import Slice
from jobs.study.tuning import Tuning, tune
from mis_scoring.training.adapter import LoraShape, add_lora, merge, save_adapter
from mis_scoring.training.model import DecoderShape

LOG = logging.getLogger(__name__)
TINY_SHAPE = DecoderShape(hidden_size=64, intermediate_size=128, n_layers=2, n_heads=2, n_kv_heads=1, head_dim=32)
MEMBERS_PER_STEP = ((32_000, 8), (512_000, 16))  # up to so many pairs; 32 beyond; about 40 pairs a member
LORA_SHAPE = LoraShape(rank=16, alpha=32)
EVALUATION_S = 110.0  # what is left of the time for judging a cell


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much of the study is run.

    Attributes:
        seconds: of the whole command; no cell begins that would not fit, judged by the longest so far, and a
            training that would not fit ends early, its rate annealed.
        adapter_dir: where the adapter of a cell tuned by LoRA is written.
    """

    n_members: int
    n_orders: int
    seconds: float
    is_tiny: bool
    adapter_dir: Path


def run_cell(
    cell: Cell, data_dir: Path, folder: Path, slices: dict[str, Slice], limits: Limits, *, left_s: float
) -> dict[str, Any]:
    """Return the cell's result: `cell`, `machine`, `training`, `evaluation`.

    Args:
        folder: the base's checkpoint or tokenizer.
        left_s: of the command's time; a training that does not fit ends early, which `steps` and `planned_steps` tell.
    """
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    shape = None if cell.model in (SMOLLM2_135M, BUNDLED) else TINY_SHAPE if limits.is_tiny else DecoderShape()
    base = base_of(cell.model, folder, layout=cell.layout, shape=shape)
    decoder = base.make(seed=cell.seed, device=device)
    result: dict[str, Any] = {"cell": cell.as_dict(), "machine": _machine(device)}
    if cell.n_pairs:
        members = list(first_pairs(read_members(data_dir / "training.jsonl.gz"), cell.n_pairs))
        cost = ForwardCost.of(decoder)
        adapted = add_lora(decoder, LORA_SHAPE, seed=cell.seed) if cell.tuned == LORA else None
        tuning = replace(_tuning(cell), max_seconds=max(10.0, left_s - EVALUATION_S))
        figures: dict[str, Any] = tune(decoder, base, cell, members, tuning, log=LOG.info)
        flops = training_flops(cost, figures["tokens"])
        result["training"] = figures | {
            "members": len(members),
            "pairs_per_s": figures["pairs"] / figures["seconds"],
            "flops_per_s": flops / figures["seconds"],
        }
        if adapted is not None:
            save_adapter(adapted, limits.adapter_dir, dtype="bfloat16")
            decoder = merge(adapted).to(device)
    began = time.monotonic()
    measure = measure_scoring if cell.method == SCORING else measure_generation
    result["evaluation"] = measure(decoder, base, slices, n_orders=limits.n_orders)
    result["evaluation_seconds"] = time.monotonic() - began
    del decoder
    if device == "cuda":
        torch.cuda.empty_cache()
    return result


def _tuning(cell: Cell) -> Tuning:
    members_per_step = next((n for bound, n in MEMBERS_PER_STEP if cell.n_pairs <= bound), 32)
    if cell.model == SMALL:
        return Tuning(members_per_step=32, learning_rate=1.5e-3, lm_until=0.35)
    return Tuning(members_per_step=members_per_step, learning_rate=1e-3 if cell.tuned == LORA else 3e-4)


def _machine(device: str) -> dict[str, str]:
    import torch
    import transformers

    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return {"device": name, "torch": str(torch.__version__), "transformers": str(transformers.__version__)}
