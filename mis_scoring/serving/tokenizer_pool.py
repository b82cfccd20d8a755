"""Tokenizers in processes of their own: a long request holds up neither the server's loop nor the others."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mis_scoring.core.labels import TokenIds
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving.supervised_host import SupervisedHost

_START_TIMEOUT_S, _ANSWER_TIMEOUT_S = 60.0, 60.0


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """Token ids of a request, aligned with its items, and one sentence a text that has none."""

    query: TokenIds
    items: Sequence[TokenIds]
    faults: Sequence[str]


class TokenizerPool:
    """Some tokenizers; each request goes to the one with the least to do."""

    def __init__(self, spec: ScoreSpec, n_tokenizers: int, on_change: Callable[[], None]) -> None:
        command = (sys.executable, "-m", "mis_scoring.serving.tokenizer_host", spec.to_json())
        self._hosts = [
            SupervisedHost(
                f"tokenizer {number}",
                command,
                env={"TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": ":".join(filter(None, sys.path))},
                start_timeout_s=_START_TIMEOUT_S,
                answer_timeout_s=_ANSWER_TIMEOUT_S,
                on_change=on_change,
            )
            for number in range(n_tokenizers)
        ]

    @property
    def is_there(self) -> bool:
        """Whether any of them answers."""
        return any(not host.reason for host in self._hosts)

    @property
    def pids(self) -> list[int]:
        """Of those that answer."""
        return [host.pid for host in self._hosts if host.pid is not None]

    async def start(self) -> None:
        """Start all.

        Raises:
            EngineDeadError: one did not start.
        """
        await asyncio.gather(*(host.start() for host in self._hosts))

    async def encode(self, query: str | None, items: Sequence[str]) -> Encoded:
        """Return the token ids of rendered texts.

        Args:
            query: None: it was encoded before.
        Raises:
            EngineDeadError: there is no tokenizer now.
        """
        host = min(self._hosts, key=lambda one: (bool(one.reason), one.n_asked))
        answer = await host.ask({"query": query, "items": list(items)})
        return Encoded(query=answer["query"], items=answer["items"], faults=answer["faults"])

    async def close(self) -> None:
        """End all."""
        await asyncio.gather(*(host.close() for host in self._hosts))
