"""The key-value store in a Redis, for readers on many machines.

One hash holds all values, so it lies on one node; a Redis that loses its memory comes back empty, with no position, and
is filled again. What keeps its own backups has to be cleaned there when a member is erased.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

import redis

from jobs.kv.store import NextValue, PositionMovedError, StoreAwayError
from jobs.kv.value import MemberLabels, Position

_TIMEOUT_S = 5.0
_AT_ONCE = 1_000  # values a request

F = TypeVar("F", bound=Callable[..., Any])


def _answers(method: F) -> F:
    """Say clearly that Redis is away, full (`maxmemory`), or refuses (read-only, a disk that it can't write)."""

    @wraps(method)
    def call(self: "RedisStore", *arguments: Any, **options: Any) -> Any:
        try:
            return method(self, *arguments, **options)
        except redis.RedisError as error:
            raise self._away(error) from error

    return call  # type: ignore[return-value]


class RedisStore:
    """Values in the hash PREFIX:members, beside PREFIX:position and the set PREFIX:erased."""

    def __init__(self, url: str, *, prefix: str) -> None:
        self._redis: Any = redis.Redis.from_url(
            url, decode_responses=True, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S
        )
        self._members, self._position, self._erased = (f"{prefix}:{name}" for name in ("members", "position", "erased"))
        options = self._redis.connection_pool.connection_kwargs
        self.where = (
            options.get("path") or f"{options.get('host')}:{options.get('port')}"
        )  # the URL may hold a password

    @_answers
    def get(self, member_id: str) -> MemberLabels | None:
        """Return a member's value."""
        return _value_of(self._redis.hget(self._members, member_id))

    @_answers
    def position(self) -> Position | None:
        """Return up to where it was fed."""
        return _position_of(self._redis.get(self._position))

    @_answers
    def update(
        self, member_ids: Collection[str], change: NextValue, position: Position, *, expected: Position | None = None
    ) -> None:
        """Change members' values and set the position in one transaction, tried again when another writer was first."""
        members = list(member_ids)

        def in_transaction(pipe: Any) -> None:
            if expected is not None and _position_of(pipe.get(self._position)) != expected:
                raise PositionMovedError("the key-value store was fed or rebuilt meanwhile")
            stored = pipe.hmget(self._members, members) if members else []
            erased = pipe.smismember(self._erased, [_hash(member) for member in members]) if members else []
            pipe.multi()
            for member_id, text, is_erased in zip(members, stored, erased, strict=True):
                value = change(member_id, _value_of(text))
                if value is not None and not is_erased:
                    pipe.hset(self._members, member_id, value.to_json())
            pipe.set(self._position, position.to_json())

        self._redis.transaction(in_transaction, self._members, self._position, self._erased)

    @_answers
    def replace_all(self, values: Iterable[MemberLabels], position: Position) -> int:
        """Fill a second hash, and rename it over the first."""
        new, left, n_values = f"{self._members}:new", iter(values), 0
        with self._redis.pipeline(transaction=True) as pipe:
            pipe.watch(self._erased)  # who is forgotten meanwhile must not come back
            self._redis.delete(new)
            while some := list(islice(left, _AT_ONCE)):
                erased = self._redis.smismember(self._erased, [_hash(value.member_id) for value in some])
                kept = {v.member_id: v.to_json() for v, is_erased in zip(some, erased, strict=True) if not is_erased}
                if kept:
                    self._redis.hset(new, mapping=kept)
                n_values += len(kept)
            pipe.multi()
            pipe.rename(new, self._members) if n_values else pipe.delete(self._members)
            pipe.set(self._position, position.to_json())
            pipe.execute()
        return n_values

    @_answers
    def forget(self, member_id: str) -> bool:
        """Remove a member, and remember the hash of the id."""
        with self._redis.pipeline(transaction=True) as pipe:
            pipe.sadd(self._erased, _hash(member_id))
            pipe.hdel(self._members, member_id)
            return bool(pipe.execute()[1])

    def values(self) -> Iterator[MemberLabels]:
        """Return all values; one that is written meanwhile may be the old or the new one."""
        try:
            for _, stored in self._redis.hscan_iter(self._members, count=_AT_ONCE):
                yield MemberLabels.from_json(stored)
        except redis.RedisError as error:
            raise self._away(error) from error

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    def _away(self, error: redis.RedisError) -> StoreAwayError:
        """Return what is told; of a pipeline's error the cause alone, since the command holds ids and labels."""
        cause = str(error).rpartition("caused error: ")[2]
        return StoreAwayError(f"Redis does not answer as it should ({self.where}): {cause}")


def _hash(member_id: str) -> str:
    return hashlib.sha256(member_id.encode()).hexdigest()


def _position_of(stored: str | None) -> Position | None:
    return None if stored is None else Position.from_json(stored)


def _value_of(stored: str | None) -> MemberLabels | None:
    return None if stored is None else MemberLabels.from_json(stored)
