"""How many requests are under way, with a bound: what is above it is refused at once, never queued."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from grpc import StatusCode


class RefusedRequestError(Exception):
    """A request gets no scores.

    Attributes:
        reason: one word, for the metrics.
    """

    def __init__(self, status: StatusCode, reason: str, message: str) -> None:
        self.status, self.reason, self.message = status, reason, message
        super().__init__(message)


class Admission:
    """Lets requests in up to a bound, and none once the server is to end."""

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._idle = asyncio.Event()
        self._idle.set()
        self.n_under_way = 0
        self.is_draining = False

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Count a request while the block runs.

        Raises:
            RefusedRequestError: RESOURCE_EXHAUSTED or UNAVAILABLE.
        """
        if self.is_draining:
            raise RefusedRequestError(StatusCode.UNAVAILABLE, "draining", "the server is ending: ask another one")
        if self.n_under_way >= self._at_most:
            raise RefusedRequestError(
                StatusCode.RESOURCE_EXHAUSTED,
                "full",
                f"{self._at_most} requests are under way, which is the most: try again later",
            )
        self.n_under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.n_under_way -= 1
            if not self.n_under_way:
                self._idle.set()

    async def drain(self, within_s: float) -> bool:
        """Let nobody in any more, wait for those who are, and return whether all were answered in time."""
        self.is_draining = True
        try:
            await asyncio.wait_for(self._idle.wait(), within_s)
        except TimeoutError:
            return False
        return True
