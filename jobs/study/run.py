"""Run the study's cells in one process and append each result as soon as it is there.

    python -m jobs.study.run --data .carry/study --base SMOLLM2_FOLDER --out results.jsonl --minutes 9

A cell whose result is in the file is skipped, so that the same command goes on after a stop. Needs torch, transformers,
tokenizers and peft, and a GPU for the full sizes; `--tiny` is minutes on a CPU.
"""

import argparse
import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobs.study.cell_run import Limits, run_cell
from jobs.study.cells import BUNDLED, CHAT, COMPACT, FULL, LORA, METHODS, SCORING, SMALL, SMOLLM2_135M, Cell, plan
from jobs.study.slices import read_slices

LOG = logging.getLogger(__name__)
SIZES = (1_024, 4_096, 16_384, 65_536, 262_144)
TINY_SIZES = (200, 800)


def run_study(
    cells: Sequence[Cell], data_dir: Path, folders: dict[str, Path], out: Path, limits: Limits
) -> list[dict[str, Any]]:
    """Run what is missing and return all results."""
    began, longest_s = time.monotonic(), 0.0
    slices = read_slices(data_dir, n_members=limits.n_members)
    results = read_results(out)
    done = {json.dumps(result["cell"], sort_keys=True) for result in results}
    for cell in cells:
        if json.dumps(cell.as_dict(), sort_keys=True) in done:
            continue
        left_s = limits.seconds - (time.monotonic() - began)
        if left_s < longest_s * 1.1 + 5:
            LOG.info("%.0f s are left, too few for %s", left_s, cell)
            break
        started = time.monotonic()
        result = run_cell(cell, data_dir, folders[cell.model], slices, limits, left_s=left_s)
        longest_s = max(longest_s, time.monotonic() - started)
        results.append(result)
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        LOG.info(summary(result))
    return results


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the results of a file, none when it is not there."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def summary(result: dict[str, Any]) -> str:
    """Return one line of a result, for a log."""
    cell, slices = result["cell"], result["evaluation"]["slices"]
    parts = [f"{cell['model']} {cell['method']} {cell['n_pairs']} seed {cell['seed']}:"]
    for name, figures in slices.items():
        chosen = figures["default" if name.endswith("balanced") or "tuned" not in figures else "tuned"]
        parts.append(f"{name} agreement {chosen['agreement']:.4f} F1 {chosen['f1']:.4f}")
        if "order" in figures:
            parts.append(f"changed {figures['order']['inconsistency']:.5f}")
    training = result.get("training", {"seconds": 0.0, "pairs_per_s": 0.0, "flops_per_s": 0.0})
    parts.append(
        f"training {training['seconds']:.0f} s {training['pairs_per_s']:.0f} pairs/s "
        f"{training['flops_per_s'] / 1e12:.0f} TFLOP/s evaluation {result['evaluation_seconds']:.0f} s"
    )
    return "; ".join(parts)


def cells_of(args: argparse.Namespace) -> list[Cell]:
    """Return the cells that the arguments ask for; the bundled labeler is judged last."""
    cells = plan(
        args.sizes,
        models=args.models,
        seeds=args.seeds,
        methods=args.methods,
        layout=args.layout,
        tuned=args.tuned,
    )
    if args.judge_bundled:
        cells.append(Cell(model=BUNDLED, method=SCORING, n_pairs=0, n_passes=0, seed=0, layout=COMPACT))
    return cells


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="what jobs.study.prepare wrote")
    parser.add_argument("--out", type=Path, required=True, help="results, a JSON line a cell")
    parser.add_argument("--base", type=Path, help="checkpoint folder of SmolLM2-135M-Instruct")
    parser.add_argument(
        "--bundled", type=Path, default=Path("labelers/esco-small"), help="tokenizer of the small model"
    )
    parser.add_argument("--judge-bundled", action="store_true", help="judge labelers/esco-small as it is, too")
    parser.add_argument("--models", nargs="+", choices=(SMOLLM2_135M, SMALL), default=[SMOLLM2_135M])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--members", type=int, default=150, help="of each slice, at most")
    parser.add_argument("--orders", type=int, default=4, help="orders of each member's items, the rank order included")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--layout", choices=(CHAT, COMPACT), default="", help="of scoring; default: each base's own")
    parser.add_argument("--tuned", choices=(FULL, LORA), default=FULL)
    parser.add_argument("--tiny", action="store_true", help="a tiny model, few pairs and members: minutes on a CPU")
    args = parser.parse_args()
    args.sizes = args.sizes or (TINY_SIZES if args.tiny else SIZES)
    if args.tiny:
        args.models, args.members, args.orders = [SMALL], min(args.members, 4), min(args.orders, 3)
    if SMOLLM2_135M in args.models and args.base is None:
        parser.error(f"{SMOLLM2_135M} needs --base, its checkpoint folder; `--models {SMALL}` does without")
    folders = {SMOLLM2_135M: args.base, SMALL: args.bundled, BUNDLED: args.bundled}
    limits = Limits(
        n_members=args.members,
        n_orders=args.orders,
        seconds=args.minutes * 60,
        is_tiny=args.tiny,
        adapter_dir=args.out.parent / "adapter",
    )
    import torch

    # cuDNN makes a plan for every new length: 103 ms instead of 50 a decoded token, measured on an H200.
    torch.backends.cuda.enable_cudnn_sdp(False)
    run_study(cells_of(args), args.data, folders, args.out, limits)


if __name__ == "__main__":
    main()
