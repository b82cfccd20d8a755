"""Does a model server's memory stay flat? `python -m mis_scoring.serving.bench_memory FOLDER` starts one and asks it.

Requests of one size, one after the other, show a leak as a line that rises. Requests of many sizes, several at a time,
are joined: the engine's memory then rises to what its largest forward takes, and no further.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.serving.bench import add_server_options, made_up, rss_mb_of_tree, started_server
from mis_scoring.serving.load import Asked, Load

_DEADLINE_S = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table (or one JSON document), and return 0."""
    options = _parser().parse_args(arguments)
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "callers": options.callers,
        "sizes": "many" if options.vary else "one",
        "curve": memory_curve(options),
    }
    sys.stdout.write((json.dumps(report, indent=2) if options.json else as_text(report)) + "\n")
    return 0


def memory_curve(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return resident memory (MB) by the module that each process runs, after every so many requests."""
    artifact = LabelerArtifact.load(options.folder)
    with started_server(options, os.sched_getaffinity(0)) as (where, pid):
        return asyncio.run(_curve(artifact, options, where["address"], pid))


def as_text(report: dict[str, Any]) -> str:
    """Return the table that a person reads."""
    modules = list(report["curve"][0]["rss_mb"])
    lines = [
        f"{report['date']}  {report['callers']} caller(s), requests of {report['sizes']} size(s), "
        f"load {report['machine']['load']:.1f}; resident MB",
        f"{'requests':>9}{'seconds':>9}  " + "  ".join(modules),
    ]
    for row in report["curve"]:
        figures = "  ".join(f"{row['rss_mb'][name]:>{len(name)}.0f}" for name in modules)
        lines.append(f"{row['requests']:>9}{row['seconds']:>9.0f}  {figures}")
    return "\n".join(lines)


async def _curve(
    artifact: LabelerArtifact, options: argparse.Namespace, address: str, pid: int
) -> list[dict[str, Any]]:
    load, started = Load(address, artifact.artifact_id, deadline_s=_DEADLINE_S), time.monotonic()
    asked = made_up(artifact, options.folder, options.items, await load.max_pair_tokens())
    if not options.vary:
        asked = [_median(asked)]
    curve = []
    for n_requests in range(0, options.requests + 1, options.every):
        if n_requests:
            await load.warm_up("mis", asked, options.every, options.callers)
        seconds = time.monotonic() - started
        curve.append({"requests": n_requests, "seconds": seconds, "rss_mb": rss_mb_of_tree(pid)})
    await load.close()
    return curve


def _median(asked: Sequence[Asked]) -> Asked:
    return sorted(asked, key=lambda one: len(one.query))[len(asked) // 2]


def _parser() -> argparse.ArgumentParser:
    description = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.serving.bench_memory", description=description)
    add_server_options(parser)
    parser.add_argument("--requests", type=int, default=3000, help="default %(default)s")
    parser.add_argument("--every", type=int, default=300, help="requests between two looks; default %(default)s")
    parser.add_argument("--items", type=int, default=50, help="N; default %(default)s")
    parser.add_argument("--callers", type=int, default=1, help="requests at a time; default %(default)s")
    parser.add_argument("--vary", action="store_true", help="queries of many lengths, not of one")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
