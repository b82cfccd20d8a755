"""Open-loop load on a model server: requests start when they were meant to, however long the others take.

Latency counts from the intended start, so that a server that falls behind cannot hide it (coordinated omission). A
request that failed counts as one that took for ever.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import grpc
import numpy as np

from mis_scoring.serving import scoring_pb2 as pb
from mis_scoring.serving.scoring_pb2_grpc import ScoringStub

MODES = ("mis", "per_pair", "two_part")
P99_MOST_S, SUCCESS_LEAST = 1.0, 0.99
_LOWEST_SHARE = 32  # of the first rate: below it the search gives up


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One query and its items, rendered."""

    query: str
    items: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one rate came to: queries a second as meant and as sent; latencies in seconds, from the intended start."""

    mode: str
    n_items: int
    rate: float
    seconds: float
    n_queries: int
    success: float
    p50_s: float
    p99_s: float
    labels_per_s: float
    failures: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the cell for JSON, which knows no infinity: None."""
        plain = asdict(self)
        return {name: None if value == math.inf else value for name, value in plain.items()}

    @property
    def holds(self) -> bool:
        """Whether the server keeps up: the knee is the highest rate that does."""
        return self.p99_s <= P99_MOST_S and self.success >= SUCCESS_LEAST


class Load:
    """A caller of a server.

    Args:
        retrieval_s: in mode `two_part`, how long after its query the items of a request are known.
        deadline_s: of one call.
    """

    def __init__(self, address: str, artifact_id: str, *, deadline_s: float = 10.0, retrieval_s: float = 0.1) -> None:
        self._channel = grpc.aio.insecure_channel(address)
        self._stub = ScoringStub(self._channel)  # type: ignore[no-untyped-call]
        self._artifact_id, self._deadline_s, self._retrieval_s = artifact_id, deadline_s, retrieval_s

    async def warm_up(self, mode: str, asked: Sequence[Asked], n_requests: int, n_at_once: int = 4) -> None:
        """Send requests one after the other, a few at once."""
        places = iter(range(n_requests))

        async def caller() -> None:
            for place in places:
                await self._ask(mode, asked[place % len(asked)], lambda: 0.0)

        await asyncio.gather(*(caller() for _ in range(n_at_once)))

    async def run(self, mode: str, asked: Sequence[Asked], rate: float, seconds: float, seed: int) -> Cell:
        """Send queries at a rate, their gaps exponential, for some time; return once all are answered or late."""
        draw = np.random.default_rng(seed)
        starts = np.cumsum(draw.exponential(1.0 / rate, math.ceil(rate * seconds)))
        picks = draw.integers(0, len(asked), len(starts))
        failures: Counter[str] = Counter()
        latencies: list[float] = []
        began = time.perf_counter()

        async def one(start: float, pick: int) -> None:
            await asyncio.sleep(max(0.0, began + start - time.perf_counter()))
            known_at = began + start + (self._retrieval_s if mode == "two_part" else 0.0)
            try:
                await self._ask(mode, asked[pick], lambda: known_at - time.perf_counter())
                latencies.append(time.perf_counter() - known_at)
            except grpc.aio.AioRpcError as error:
                failures[error.code().name] += 1
                latencies.append(math.inf)

        await asyncio.gather(*(one(start, pick) for start, pick in zip(starts, picks, strict=True)))
        elapsed_s = time.perf_counter() - began
        n_items = len(asked[0].items)
        n_answered = sum(map(math.isfinite, latencies))
        return Cell(
            mode=mode,
            n_items=n_items,
            rate=rate,
            seconds=elapsed_s,
            n_queries=len(starts),
            success=n_answered / len(starts),
            p50_s=float(np.quantile(latencies, 0.5, method="higher")),
            p99_s=float(np.quantile(latencies, 0.99, method="higher")),
            labels_per_s=n_answered * n_items / elapsed_s,
            failures=dict(failures),
        )

    async def max_pair_tokens(self) -> int:
        """Return the most tokens of a query and an item together."""
        described = await self._stub.Describe(pb.DescribeRequest())
        return int(described.limits.pair_tokens)

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    async def _ask(self, mode: str, asked: Asked, wait_s: Callable[[], float]) -> None:
        if mode == "two_part":
            await self._ask_in_two_parts(asked, wait_s)
        elif mode == "per_pair":
            await asyncio.gather(*(self._score(asked.query, [item]) for item in asked.items))
        else:
            await self._score(asked.query, asked.items)

    def _score(self, query: str, items: Sequence[str]) -> Awaitable[pb.ScoreResponse]:
        request = pb.ScoreRequest(artifact_id=self._artifact_id, query=query, items=items)
        answering: Awaitable[pb.ScoreResponse] = self._stub.Score(request, timeout=self._deadline_s)
        return answering

    async def _ask_in_two_parts(self, asked: Asked, wait_s: Callable[[], float]) -> None:
        async def parts() -> AsyncIterator[pb.ScorePart]:
            yield pb.ScorePart(query=pb.Query(artifact_id=self._artifact_id, query=asked.query))
            await asyncio.sleep(max(0.0, wait_s()))
            yield pb.ScorePart(items=pb.Items(items=asked.items))

        async for _ in self._stub.ScoreStream(parts(), timeout=self._deadline_s):
            pass


def knee(cells: Sequence[Cell]) -> Cell | None:
    """Return the highest rate that the server keeps up with; None where it keeps up with none."""
    return max((cell for cell in cells if cell.holds), key=lambda cell: cell.rate, default=None)


def next_rate(cells: Sequence[Cell], *, first: float, precision: float = 1.2) -> float | None:
    """Return the rate to try next; None once the knee is known.

    Doubled while the server keeps up (halved until it does), then halfway between the rates that hold and that do not,
    until these are within `precision` of each other.
    """
    held = max((cell.rate for cell in cells if cell.holds), default=None)
    failed = min((cell.rate for cell in cells if not cell.holds), default=None)
    if held is None and failed is None:
        return first
    if failed is None:
        return 2 * (held or first)
    if held is None:
        return failed / 2 if failed > first / _LOWEST_SHARE else None
    return None if failed <= precision * held else (held + failed) / 2
