"""Where a forward's time goes, kernel by kernel, in steady state: `python -m mis_scoring.bench.profile --shape 1.5B`.

The dedicated engine on random weights under a full queue, watched by torch's profiler. `busy` is the share of the time
in which some kernel or copy runs.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mis_scoring.bench.engines import PREFILL, make_engines
from mis_scoring.bench.full_queue import full_queue
from mis_scoring.bench.gpu import LABELS, draw_requests
from mis_scoring.bench.shapes import SHAPES, write_random_model

N_KERNELS = 16  # of the longest, in the report
_WARM_UP = 60  # requests
Span = tuple[float, float, str]  # start and end in microseconds, name


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile and print one JSON document."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = write_random_model(Path(scratch) / options.shape, options.shape)
        requests = draw_requests(200, 24, options.query_tokens)
        plan = {"method": options.method, "n_engines": 1, "mps": False}
        (engine,) = make_engines(folder, plan, {}, requests, LABELS)
        with full_queue([engine], requests, LABELS) as queue:
            queue.wait_for(_WARM_UP)
            spans = _watch(options.seconds)
            queue.require_sound()
        engine.close()
    report = {"shape": options.shape, "method": options.method, "engine": dict(engine.fingerprint)}
    sys.stdout.write(json.dumps(report | summary_of(spans), indent=2) + "\n")
    return 0


def summary_of(spans: Sequence[Span]) -> dict[str, Any]:
    """Return the busy share of the time from the first start to the last end, and the share of each kernel."""
    ordered = sorted(spans)
    whole = max(end for _, end, _ in ordered) - ordered[0][0]
    busy, reached = 0.0, ordered[0][0]
    kernels: dict[str, list[float]] = defaultdict(list)
    for start, end, name in ordered:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
        kernels[name].append(end - start)
    longest = sorted(kernels.items(), key=lambda kernel: -sum(kernel[1]))[:N_KERNELS]
    return {
        "seconds": whole / 1e6,
        "busy": busy / whole,
        "kernels": [
            {"name": name, "share": sum(times) / whole, "launches": len(times), "mean_us": sum(times) / len(times)}
            for name, times in longest
        ],
    }


def _watch(seconds: float) -> list[Span]:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as watched:
        time.sleep(seconds)
    events = (event for event in watched.events() or () if event.device_type.name == "CUDA")
    return [(event.time_range.start, event.time_range.end, event.name) for event in events]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.bench.profile", description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="1.5B")
    parser.add_argument("--method", choices=PREFILL, default="prefill")
    parser.add_argument("--query-tokens", type=int, help="of every query; default: the paper's log-normal lengths")
    parser.add_argument("--seconds", type=float, default=1.5)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
