"""Stands in for SGLang where there is no GPU: the same two calls, a margin that is a function of the pair alone.

A file of the checkpoint's folder steers it: `steering/` beside it, see `tests.ray.fake_engines.Steering`.
"""

import asyncio
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SLEEPER = "import time; time.sleep(600)"


class Engine:
    def __init__(self, **arguments: Any) -> None:
        self.folder = Path(arguments["model_path"]).parent / "steering"
        self.n_requests = 0
        self.note("arguments", str(sorted(arguments)))
        if self.ordered("refuse"):
            raise ValueError("no such attention backend")
        self.worker = subprocess.Popen([sys.executable, "-c", SLEEPER])  # the scheduler, which holds the GPU
        self.note("workers", str(self.worker.pid))
        self.note("hosts", str(os.getpid()))
        while self.ordered("start slowly"):
            time.sleep(0.05)

    async def async_score(
        self, *, query: list[int], items: list[list[int]], label_token_ids: list[int], apply_softmax: bool
    ) -> SimpleNamespace:
        for token in [*query, *(t for item in items for t in item), *label_token_ids]:
            if type(token) is not int:
                raise ValueError(f"{type(token)} is no int")
        self.n_requests += 1
        self.note("requests", f"{len(query)} {len(items)}")
        while self.ordered("hang"):
            await asyncio.sleep(0.05)
        if self.ordered("die"):
            (self.folder / "die").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.ordered("refuse request"):
            raise ValueError("the request is too long")
        margins = [checksum(query, item) for item in items]
        return SimpleNamespace(scores=[[math.exp(m - 20), math.exp(-20)] for m in margins])

    def ordered(self, what: str) -> bool:
        order = self.folder / what
        return order.exists() and self.n_requests > int(order.read_text() or -1)

    def note(self, what: str, line: str) -> None:
        if self.folder.exists():
            with (self.folder / what).open("a") as file:
                file.write(line + "\n")


def checksum(query: list[int], item: list[int]) -> float:
    """As `tests.ray.fake_engines.FakeEngine.margin`."""
    return sum(place * token for place, token in enumerate([*query, *item], start=1)) % 65 / 8 - 4
