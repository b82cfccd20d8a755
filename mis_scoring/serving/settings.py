"""How a model server is set up: plain values, checked at once. None of them changes a score.

Memory grows with `max_requests` times the size of a message (texts and tokens of what is under way), and with
`n_prefilled` times the keys of a query.
"""

from dataclasses import dataclass
from pathlib import Path

from mis_scoring.core.errors import DataError
from mis_scoring.serving.access import Access

MAX_MESSAGE_BYTES = 8 * 2**20


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Places, limits and times of one server.

    Attributes:
        port: 0 takes a free one; the same for `metrics_port`.
        n_tokenizers: processes that turn texts into tokens.
        max_requests: requests and streams under way; one more is RESOURCE_EXHAUSTED.
        max_items: of one message.
        max_batch_tokens: requests are joined into one forward up to so many; a longer one goes alone.
        n_prefilled: queries whose keys the engine keeps for the items to come; beyond it the oldest is computed again.
        canary_every: forwards between two canaries.
        start_timeout_s: of an engine; one that is not ready by then is ended and started again.
        forward_timeout_s: an engine that takes longer hangs; its process is ended and started again.
        stream_idle_s: a stream without items for so long is ended, and one whose answers are not read.
        drain_s: how long requests under way may take once the server is to end.
        freeze_heap: take what is loaded out of the garbage collector's sight.
        token_file, tls_certificate, tls_key: see `Access`.
    """

    host: str = "127.0.0.1"
    port: int = 50051
    metrics_port: int = 9465
    n_tokenizers: int = 1
    max_requests: int = 256
    max_items: int = 1000
    max_batch_tokens: int = 8192
    n_prefilled: int = 32
    canary_every: int = 100
    start_timeout_s: float = 600.0
    forward_timeout_s: float = 120.0
    stream_idle_s: float = 30.0
    drain_s: float = 30.0
    freeze_heap: bool = True
    token_file: Path | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what is out of bounds, all at once."""
        if faults := [*self._number_faults(), *self.access.faults()]:
            raise DataError("\n".join(["the settings of the model server:", *(f"  - {fault}" for fault in faults)]))

    @property
    def access(self) -> Access:
        """Whom the server answers, and over what."""
        return Access(
            host=self.host,
            token_file=self.token_file,
            tls_certificate=self.tls_certificate,
            tls_key=self.tls_key,
        )

    def _number_faults(self) -> list[str]:
        above_0 = ("n_tokenizers", "max_requests", "max_items", "max_batch_tokens", "n_prefilled", "canary_every")
        times = ("start_timeout_s", "forward_timeout_s", "stream_idle_s", "drain_s")
        return [
            f"{name} is {getattr(self, name)!r}; it must be above 0"
            for name in above_0 + times
            if not getattr(self, name) > 0
        ]
