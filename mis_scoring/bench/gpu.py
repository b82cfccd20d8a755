"""Labels per second of the engines on this GPU, beside what the chip allows: `python -m mis_scoring.bench.gpu`.

Random weights of the paper's shapes, its queries, N items a request. An engine starts once for all cells of a method; a
cell runs until `--seconds` of steady state are over, `--repeats` times, and the median counts. Beside each rate stand
the useful floating-point operations and the least bytes per second, and their share of what a large matrix product and
a large copy reach on the same chip in the same minute.
"""

import argparse
import fcntl
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mis_scoring.bench.engines import ClosableEngine, make_engines, process_group
from mis_scoring.bench.full_queue import full_queue
from mis_scoring.bench.shapes import SHAPES, cost_of, draw_query_lengths, write_random_model
from mis_scoring.core.errors import EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds

LABELS = LabelTokens(yes=9_693, no=2_753)
N_REQUESTS = 400
_WARM_UP = 12  # requests of each thread's share are in before the clock starts


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measurement.

    Attributes:
        tflops: useful operations, 10^12 a second; tflops_share: of a large matrix product here.
        gbytes_s: the least that must pass the memory, 10^9 a second; gbytes_share: of a large copy here.
        gpu_busy: nvidia-smi's utilisation; host_cores: CPU of the engines' processes.
        sm_mhz: the SMs' clock, which falls where power is what limits; joules_per_label: power over the rate.
        fingerprint: of the first engine.
    """

    shape: str
    method: str
    n_engines: int
    mps: bool
    n_items: int
    item_tokens: int
    labels_per_s: float
    spread: float
    chip_tflops: float
    chip_gbytes_s: float
    tokens_per_s: float
    tflops: float
    tflops_share: float
    gbytes_s: float
    gbytes_share: float
    p50_ms: float
    p99_ms: float
    gpu_busy: float
    gpu_watt: float
    sm_mhz: float
    joules_per_label: float
    host_cores: float
    fingerprint: dict[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; every cell also goes to `--out` as soon as it is there.

    Returns:
        1 where an engine of some plan failed: the other plans are measured.
    """
    options = _parser().parse_args(arguments)
    cells: list[Cell] = []
    n_failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for shape in options.shapes:
            folder = write_random_model(Path(scratch) / shape, shape)
            _release_memory()
            for plan in options.plans:
                try:
                    for cell in measure(folder, shape, plan, options):
                        cells.append(cell)
                        _write(options.out, cells)
                        sys.stdout.write(as_line(cell) + "\n")
                        sys.stdout.flush()
                except EngineError as failure:
                    n_failed += 1
                    sys.stderr.write(f"{shape} {plan['method']}: {failure}\n")
    return min(1, n_failed)


@contextmanager
def alone(lock: Path | None) -> Iterator[None]:
    """Let no other bench of this lock measure meanwhile."""
    if lock is None:
        yield
    else:
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def chip_limits() -> dict[str, Any]:
    """Return what the chip reaches now: an 8192^3 product in bfloat16 and a copy of 8 GB, on random data."""
    import torch

    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    source = torch.randn(2**31, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    product_s, copy_s = _cuda_s(lambda: a @ b, 100), _cuda_s(lambda: target.copy_(source), 20)
    return {"tflops": 2 * 8192**3 / product_s / 1e12, "gbytes_s": 2 * 2**32 / copy_s / 1e9}


def _release_memory() -> None:
    """Give back what torch keeps of freed memory: the engines are other processes."""
    import torch

    torch.cuda.empty_cache()


def measure(folder: Path, shape: str, plan: dict[str, Any], options: argparse.Namespace) -> Iterator[Cell]:
    """Yield the cells of one plan: a method, a number of engines, with MPS or not."""
    calibration = draw_requests(50, 24, options.query_tokens)
    engines = make_engines(folder, plan, json.loads(options.options), calibration, LABELS)
    fingerprint = dict(engines[0].fingerprint)
    try:
        for n_items, item_tokens in plan["cells"]:
            requests = draw_requests(n_items, item_tokens, options.query_tokens)
            with alone(options.lock):
                limits = chip_limits()
                _release_memory()
                runs = [_run(engines, requests, options.seconds) for _ in range(options.repeats)]
            yield _cell(shape, plan, (n_items, item_tokens), runs, requests, limits, fingerprint)
    finally:
        while engines:
            engines.pop().close()
        gc.collect()  # an engine in this process holds its memory for as long as it is known
        _release_memory()


def draw_requests(
    n_items: int, item_tokens: int, query_tokens: int | None = None
) -> list[tuple[TokenIds, list[TokenIds]]]:
    """Return requests of random tokens: one token over and over needs less power, and would read too fast.

    Args:
        query_tokens: of every query; None: the paper's lengths.
    """
    draw = np.random.default_rng(n_items)
    lengths = [query_tokens] * N_REQUESTS if query_tokens else draw_query_lengths(N_REQUESTS, seed=n_items)
    return [
        (draw.integers(0, 9_000, n).tolist(), draw.integers(0, 9_000, (n_items, item_tokens)).tolist()) for n in lengths
    ]


def _run(engines: Sequence[ClosableEngine], requests: Sequence[Any], seconds: float) -> dict[str, Any]:
    """Keep the engines busy and count what ends between two moments.

    Raises:
        EngineError: a request failed.
    """
    with full_queue(engines, requests, LABELS) as queue:
        queue.wait_for(_WARM_UP * len(engines))
        with _watched(engines) as watched:
            begin = time.perf_counter()
            time.sleep(seconds)
            end = time.perf_counter()
        queue.require_sound()
    inside = [one for one in queue.answered if begin <= one.at < end]
    if not inside:
        raise EngineError(f"no request ended within {seconds:g} s: measure for longer (--seconds)")
    return {"seconds": end - begin, "inside": inside, **watched}


def _cell(
    shape: str,
    plan: dict[str, Any],
    sizes: tuple[int, int],
    runs: Sequence[dict[str, Any]],
    requests: Sequence[Any],
    limits: dict[str, Any],
    fingerprint: dict[str, str],
) -> Cell:
    n_items, item_tokens = sizes
    rates = [len(run["inside"]) * n_items / run["seconds"] for run in runs]
    run = runs[rates.index(statistics.median_low(rates))]
    costs = [cost_of(SHAPES[shape], len(requests[one.request][0]), [item_tokens] * n_items) for one in run["inside"]]
    tokens = sum(len(requests[one.request][0]) + n_items * item_tokens for one in run["inside"])
    passes = max(1.0, tokens / 24_576)
    flops = sum(cost.flops for cost in costs) / run["seconds"]
    n_bytes = (sum(cost.token_bytes for cost in costs) + passes * costs[0].weight_bytes) / run["seconds"]
    latency = sorted(one.spent_s for one in run["inside"])
    return Cell(
        shape=shape,
        method=plan["method"],
        n_engines=plan["n_engines"],
        mps=plan["mps"],
        n_items=n_items,
        item_tokens=item_tokens,
        labels_per_s=statistics.median_low(rates),
        chip_tflops=limits["tflops"],
        chip_gbytes_s=limits["gbytes_s"],
        spread=(max(rates) - min(rates)) / statistics.median_low(rates),
        tokens_per_s=tokens / run["seconds"],
        tflops=flops / 1e12,
        tflops_share=flops / 1e12 / limits["tflops"],
        gbytes_s=n_bytes / 1e9,
        gbytes_share=n_bytes / 1e9 / limits["gbytes_s"],
        p50_ms=1e3 * latency[len(latency) // 2],
        p99_ms=1e3 * latency[int(0.99 * len(latency))],
        gpu_busy=run["gpu_busy"],
        gpu_watt=run["gpu_watt"],
        sm_mhz=run["sm_mhz"],
        joules_per_label=run["gpu_watt"] / statistics.median_low(rates),
        host_cores=run["host_cores"],
        fingerprint=fingerprint,
    )


@contextmanager
def _watched(engines: Sequence[ClosableEngine]) -> Iterator[dict[str, float]]:
    """Fill in, when the block ends, how busy the GPU and the engines' processes were."""
    asked = "--query-gpu=utilization.gpu,power.draw,clocks.sm"
    query = ["nvidia-smi", asked, "--format=csv,noheader,nounits", "-lms", "250"]
    watched: dict[str, float] = {}
    with subprocess.Popen(query, stdout=subprocess.PIPE, text=True) as watcher:
        before, started = _cpu_s(engines), time.perf_counter()
        try:
            yield watched
        finally:
            watched["host_cores"] = (_cpu_s(engines) - before) / (time.perf_counter() - started)
            watcher.terminate()
        assert watcher.stdout is not None
        seen = [line.split(",") for line in watcher.stdout.read().splitlines() if line.count(",") == 2]
    watched["gpu_busy"] = statistics.mean(float(line[0]) for line in seen) / 100
    watched["gpu_watt"] = statistics.mean(float(line[1]) for line in seen)
    watched["sm_mhz"] = statistics.mean(float(line[2]) for line in seen)


def _cpu_s(engines: Sequence[ClosableEngine]) -> float:
    """CPU seconds of all processes in the engines' groups so far."""
    groups = {process_group(engine) for engine in engines}
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        if int(fields[2]) in groups:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / 100


def _cuda_s(work: Any, n: int) -> float:
    import torch

    for _ in range(3):
        work()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(n):
        work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1e3 / n


def as_line(cell: Cell) -> str:
    """Return one row of the table that a person reads."""
    engines = f"{cell.n_engines}{' MPS' if cell.mps else ''}"
    return (
        f"{cell.shape} | {cell.method} | {engines} | {cell.n_items} x {cell.item_tokens} | {cell.labels_per_s:.0f} | "
        f"{cell.spread:.0%} | {cell.tflops:.0f} ({cell.tflops_share:.0%}) | {cell.gbytes_s:.0f} "
        f"({cell.gbytes_share:.0%}) | {cell.p50_ms:.0f}, {cell.p99_ms:.0f} | {cell.gpu_busy:.0%}, "
        f"{cell.gpu_watt:.0f} W, {cell.sm_mhz:.0f} MHz, {1e3 * cell.joules_per_label:.0f} mJ | {cell.host_cores:.1f}"
    )


def _write(out: Path, cells: Sequence[Cell]) -> None:
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cells": [asdict(cell) for cell in cells],
    }
    out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _plan(text: str) -> dict[str, Any]:
    """Read `mis:2:mps:200x24,50x24`."""
    method, n_engines, mps, cells = text.split(":")
    sizes = [tuple(map(int, cell.split("x"))) for cell in cells.split(",")]
    return {"method": method, "n_engines": int(n_engines), "mps": mps == "mps", "cells": sizes}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.bench.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    plans = ["mis:1:-:200x24", "prefill:1:-:200x24", "prefill-fp8-mlp:1:-:200x24", "prefill-fp8-all:1:-:200x24"]
    parser.add_argument(
        "--plans", nargs="+", type=_plan, default=[_plan(p) for p in plans], help="METHOD:N:mps|-:NxL,.."
    )
    parser.add_argument("--options", default="{}", help='of the engines, as JSON: {"sglang": {..}, "prefill": {..}}')
    parser.add_argument("--query-tokens", type=int, help="of every query; default: the paper's log-normal lengths")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a run; default %(default)s")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--lock", type=Path, help="several benches measure in turns, and start their engines meanwhile")
    parser.add_argument("--out", type=Path, default=Path("bench_gpu.json"))
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
