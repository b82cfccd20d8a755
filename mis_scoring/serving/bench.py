"""Find a model server's knee: `python -m mis_scoring.serving.bench FOLDER`. Starts the server itself; see `load`.

Each cell is a rate: 200 requests to warm up, then the time at that rate. The knee is the highest rate with p99 <= 1 s
and at least 99% answered. With four cores or more the server and this process get cores of their own.
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mis_scoring.bench.shapes import QUERY_MEDIAN, QUERY_SIGMA, SHAPES
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.serving.bench_shape import write_shape
from mis_scoring.serving.load import MODES, Asked, Cell, Load, knee, next_rate

N_WARM_UP, N_QUERIES, ITEM_TOKENS = 200, 64, 24
_WORDS = (
    "nurse",
    "driver",
    "teacher",
    "tax",
    "law",
    "care",
    "plan",
    "sales",
    "report",
    "design",
    "years",
    "of",
    "with",
)
_LEAST_CORES_TO_SHARE_OUT = 4
_SHOWN = (
    "batch_requests_sum",
    "batch_requests_count",
    "labels_total",
    "reference_labels_total",
    "collector_pause_seconds_count",
    "collector_pause_seconds_sum",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table (or one JSON document), and return 0."""
    options = _parser().parse_args(arguments)
    with measured_folder(options) as options.folder:
        report = _measured(options)
    sys.stdout.write((json.dumps(report, indent=2) if options.json else as_text(report)) + "\n")
    return 0


@contextmanager
def measured_folder(options: argparse.Namespace) -> Iterator[Path]:
    """Yield the artifact's folder: that of the options, or one of their shape, which goes with the block."""
    if options.shape is None:
        yield options.folder
        return
    with tempfile.TemporaryDirectory(prefix="semlabel-shape-") as scratch:
        folder = Path(scratch) / "artifact"
        write_shape(folder, options.shape, options.folder, engine=options.engine, options=json.loads(options.options))
        yield folder


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    artifact = LabelerArtifact.load(options.folder)
    own_cpus, server_cpus = cpu_sets()
    os.sched_setaffinity(0, own_cpus)
    curves = [
        _curve(artifact, options, mode, n_items, server_cpus) for mode in options.modes for n_items in options.items
    ]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()},
        "cpus": {"client": sorted(own_cpus), "server": sorted(server_cpus), "shared": bool(own_cpus & server_cpus)},
        "artifact": artifact.name,
        "seconds_a_rate": options.seconds,
        "curves": curves,
    }


def cpu_sets() -> tuple[set[int], set[int]]:
    """Return the cores of this process and of the server: apart where there are enough."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < _LEAST_CORES_TO_SHARE_OUT:
        return set(cores), set(cores)
    n_own = max(1, len(cores) // 4)
    return set(cores[:n_own]), set(cores[n_own:])


def made_up(artifact: LabelerArtifact, folder: Path, n_items: int, max_tokens: int) -> list[Asked]:
    """Return queries of the paper's lengths (log-normal, median 543 tokens) with items of 24 tokens each."""
    tokenizer, draw = PromptTokenizer(folder / "tokenizer.json", artifact.prompt), np.random.default_rng(n_items)
    layout = artifact.prompt
    most = max_tokens - 2 * ITEM_TOKENS - len(tokenizer.encode_query(layout.render_query("")))
    lengths = np.minimum(draw.lognormal(np.log(QUERY_MEDIAN), QUERY_SIGMA, N_QUERIES), most).astype(int)
    return [
        Asked(
            query=layout.render_query(_text(tokenizer, draw, length)),
            items=[layout.render_item(_text(tokenizer, draw, ITEM_TOKENS)) for _ in range(n_items)],
        )
        for length in lengths.tolist()
    ]


def as_text(report: dict[str, Any]) -> str:
    """Return the table that a person reads."""
    machine, shared = report["machine"], ", shared by client and server" if report["cpus"]["shared"] else ""
    lines = [
        f"{report['date']}  {report['artifact']}, {machine['cores']} cores{shared}, load {machine['load']:.1f}; "
        f"{report['seconds_a_rate']:g} s a rate",
        f"{'mode':<10}{'N':>5}{'rate/s':>9}{'labels/s':>10}{'p50 s':>8}{'p99 s':>8}{'answered':>10}  ",
    ]
    for curve in report["curves"]:
        for cell in sorted(curve["cells"], key=lambda one: one["rate"]):
            is_knee = curve["knee"] is not None and cell["rate"] == curve["knee"]["rate"]
            lines.append(
                f"{cell['mode']:<10}{cell['n_items']:>5}{cell['rate']:>9.2f}{cell['labels_per_s']:>10.1f}"
                f"{_s(cell['p50_s'])}{_s(cell['p99_s'])}{cell['success']:>10.1%}  {'knee' if is_knee else ''}"
            )
    return "\n".join(lines)


def _s(seconds: float | None) -> str:
    return f"{'never' if seconds is None else format(seconds, '.3f'):>8}"


def _curve(
    artifact: LabelerArtifact, options: argparse.Namespace, mode: str, n_items: int, cpus: set[int]
) -> dict[str, Any]:
    with started_server(options, cpus) as (where, pid):
        warm = asyncio.run(_warm_up(artifact, options, mode, n_items, where["address"]))
        rss_mb = {"warm": rss_mb_of_tree(pid)}
        cells = asyncio.run(_cells(artifact, options, mode, warm, where["address"]))
        rss_mb["end"] = rss_mb_of_tree(pid)
        figures = _figures(where["metrics_port"])
    at_knee = knee(cells)
    return {
        "mode": mode,
        "n_items": n_items,
        "knee": None if at_knee is None else at_knee.as_dict(),
        "cells": [cell.as_dict() for cell in cells],
        "server": figures,
        "rss_mb": rss_mb,
    }


async def _warm_up(
    artifact: LabelerArtifact, options: argparse.Namespace, mode: str, n_items: int, address: str
) -> list[Asked]:
    load = Load(address, artifact.artifact_id)
    asked = made_up(artifact, options.folder, n_items, await load.max_pair_tokens())
    await load.warm_up(mode, asked, max(1, N_WARM_UP // n_items) if mode == "per_pair" else N_WARM_UP)
    await load.close()
    return asked


async def _cells(
    artifact: LabelerArtifact, options: argparse.Namespace, mode: str, asked: Sequence[Asked], address: str
) -> list[Cell]:
    load = Load(address, artifact.artifact_id, deadline_s=options.deadline_s, retrieval_s=options.retrieval_s)
    cells: list[Cell] = []
    rates = iter(options.rates or ())
    while (rate := next(rates, None) if options.rates else next_rate(cells, first=options.first_rate)) is not None:
        cells.append(await load.run(mode, asked, rate, options.seconds, seed=len(cells)))
        sys.stderr.write(f"{mode} N={len(asked[0].items)} {rate:.2f}/s: p99 {cells[-1].p99_s:.3f} s\n")
    await load.close()
    return cells


@contextmanager
def started_server(options: argparse.Namespace, cpus: set[int]) -> Iterator[tuple[dict[str, Any], int]]:
    """Start a server with the options of `add_server_options`; yield where it answers, and its process's number."""
    command = [sys.executable, "-m", "mis_scoring.serving", str(options.folder), "--engine", options.engine]
    command += ["--options", options.options, "--threads", str(options.threads)]
    command += ["--port", "0", "--metrics-port", "0", "--max-requests", "10000"]
    command += [f"--max-batch-tokens={options.max_batch_tokens}", f"--n-tokenizers={options.n_tokenizers}"]
    command += ["--freeze-heap" if options.freeze_heap else "--no-freeze-heap"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cpus)
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline()), process.pid
        finally:
            process.terminate()


def rss_mb_of_tree(pid: int) -> dict[str, float]:
    """Return the resident memory of a process and of its children, by the module that each runs."""
    children = [child for one in Path(f"/proc/{pid}/task").glob("*/children") for child in one.read_text().split()]
    found = {}
    for one in (str(pid), *children):
        command = Path(f"/proc/{one}/cmdline").read_text().split("\0")
        pages = int(Path(f"/proc/{one}/statm").read_text().split()[1])
        found[command[2]] = round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)
    return found


def _figures(metrics_port: int) -> dict[str, float]:
    """Return what the server counted: batches, ties, and the collector's pauses (count and seconds, by process)."""
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics") as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
    found = {name.removeprefix("semlabel_scoring_"): float(value) for name, value in lines}
    return {name: value for name, value in found.items() if name.startswith(_SHOWN)}


def _text(tokenizer: PromptTokenizer, draw: np.random.Generator, n_tokens: int) -> str:
    words: list[str] = []
    n = 0
    while n < n_tokens - 2:  # the layout's own tokens
        words.append(_WORDS[draw.integers(len(_WORDS))])
        n += len(tokenizer.text_ids(f" {words[-1]}"))
    return " ".join(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.serving.bench", description=__doc__.splitlines()[0])
    add_server_options(parser)
    parser.add_argument(
        "--shape",
        type=str.upper,
        choices=SHAPES,
        help="random weights of a model of the paper, with FOLDER's tokenizer",
    )
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["mis"], help="default %(default)s")
    parser.add_argument("--items", type=int, nargs="+", default=[50], help="numbers of items, N")
    parser.add_argument("--rates", type=float, nargs="+", help="queries a second; default: search the knee")
    parser.add_argument("--first-rate", type=float, default=4.0, help="where the search starts; default %(default)s")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each rate; default %(default)s")
    parser.add_argument("--deadline-s", type=float, default=10.0, help="of a call; default %(default)s")
    parser.add_argument("--retrieval-s", type=float, default=0.1, help="two_part: items come so much later")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add what the server is started with."""
    parser.add_argument("folder", type=Path, help="an artifact")
    parser.add_argument("--engine", default="cascade", help="default %(default)s")
    parser.add_argument("--options", default="{}", help="of the engine, as JSON")
    parser.add_argument("--threads", type=int, default=1, help="of the engine; default %(default)s")
    parser.add_argument("--n-tokenizers", type=int, default=1, help="default %(default)s")
    parser.add_argument("--max-batch-tokens", type=int, default=8192, help="default %(default)s")
    parser.add_argument("--freeze-heap", action=argparse.BooleanOptionalAction, default=True)


if __name__ == "__main__":
    raise SystemExit(main())
