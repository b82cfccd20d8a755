"""The key-value store in a folder: LMDB, read by any number of processes of this machine while one writes.

A commit is on disk when it returns. Keys are hashes of ids, since LMDB takes 511 bytes. Pages that were freed are
overwritten as the store is written on: what `forget` removes (ids and label ids, never a text) may lie there until.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

from jobs.kv.store import NextValue, PositionMovedError, StoreAwayError
from jobs.kv.value import MemberLabels, Position

_MAP_BYTES = 64 * 2**30  # of address space; the file grows with what is in it
_POSITION = b"position"


class LmdbStore:
    """Values in the folder's database `members`; `erased` holds hashes.

    Args:
        map_bytes: it never grows beyond.
    """

    def __init__(self, folder: Path, *, map_bytes: int = _MAP_BYTES) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._env = lmdb.open(str(folder), map_size=map_bytes, max_dbs=3, mode=0o600)
            self._members, self._meta, self._erased = (
                self._env.open_db(name) for name in (b"members", b"meta", b"erased")
            )
        except (lmdb.Error, OSError) as error:
            raise StoreAwayError(f"the key-value store in {folder} can't be opened: {error}") from error

    def get(self, member_id: str) -> MemberLabels | None:
        """Return a member's value."""
        with self._begin() as txn:
            return _value_of(txn.get(_key(member_id), db=self._members))

    def position(self) -> Position | None:
        """Return up to where it was fed."""
        with self._begin() as txn:
            return self._position_of(txn)

    def update(
        self, member_ids: Collection[str], change: NextValue, position: Position, *, expected: Position | None = None
    ) -> None:
        """Change members' values and set the position in one transaction; LMDB has one writer at a time."""
        with self._begin(write=True) as txn:
            if expected is not None and self._position_of(txn) != expected:
                raise PositionMovedError("the key-value store was fed or rebuilt meanwhile")
            for member_id in member_ids:
                key = _key(member_id)
                value = change(member_id, _value_of(txn.get(key, db=self._members)))
                if value is not None and txn.get(key, db=self._erased) is None:
                    txn.put(key, value.to_json().encode(), db=self._members)
            txn.put(_POSITION, position.to_json().encode(), db=self._meta)

    def replace_all(self, values: Iterable[MemberLabels], position: Position) -> int:
        """Replace all in one transaction."""
        n_values = 0
        with self._begin(write=True) as txn:
            txn.drop(self._members, delete=False)
            for value in values:
                key = _key(value.member_id)
                if txn.get(key, db=self._erased) is None:
                    n_values += txn.put(key, value.to_json().encode(), db=self._members)
            txn.put(_POSITION, position.to_json().encode(), db=self._meta)
        return n_values

    def forget(self, member_id: str) -> bool:
        """Remove a member, and remember the hash of the id."""
        with self._begin(write=True) as txn:
            txn.put(_key(member_id), b"", db=self._erased)
            return bool(txn.delete(_key(member_id), db=self._members))

    def values(self) -> Iterator[MemberLabels]:
        """Return all values as of one moment."""
        with self._begin() as txn, txn.cursor(db=self._members) as cursor:
            for stored in cursor.iternext(keys=False, values=True):
                yield MemberLabels.from_json(stored)

    def close(self) -> None:
        """Close the files."""
        self._env.close()

    def _position_of(self, txn: Any) -> Position | None:
        stored = txn.get(_POSITION, db=self._meta)
        return None if stored is None else Position.from_json(stored)

    @contextmanager
    def _begin(self, *, write: bool = False) -> Iterator[Any]:
        """Yield a transaction; what fails in it, or at its commit, leaves all as it was."""
        try:
            with self._env.begin(write=write) as txn:
                yield txn
        except lmdb.Error as error:
            raise StoreAwayError(f"the key-value store in {self._env.path()} can't be used: {error}") from error


def _key(member_id: str) -> bytes:
    return hashlib.sha256(member_id.encode()).digest()


def _value_of(stored: bytes | None) -> MemberLabels | None:
    return None if stored is None else MemberLabels.from_json(stored)
