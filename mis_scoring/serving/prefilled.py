"""Queries whose keys an engine keeps until their items come: bounded, the one that was used longest ago goes first."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from mis_scoring.core.engine import QueryItems, QueryKeys
from mis_scoring.core.labels import TokenIds


class PrefilledQueries:
    """Keys by stream, so many at most. A stream that lost its keys is computed again: slower, never wrong."""

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._keys: OrderedDict[str, QueryKeys] = OrderedDict()

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._keys)

    def request(self, query: TokenIds, items: Sequence[TokenIds], stream: str | None) -> QueryItems:
        """Return a request that reads the keys of its stream, or fills them."""
        if stream is None:
            return QueryItems(query=query, items=items)
        keys = self._keys.setdefault(stream, {})
        self._keys.move_to_end(stream)
        while len(self._keys) > self._at_most:
            self._keys.popitem(last=False)
        return QueryItems(query=query, items=items, query_keys=keys)

    def release(self, streams: Iterable[str]) -> None:
        """Forget streams that ended; one without keys is no error."""
        for stream in streams:
            self._keys.pop(stream, None)
