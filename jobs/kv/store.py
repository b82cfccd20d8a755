"""What a key-value store must do for the feeder and the readers; LMDB in a folder by default, Redis by a setting."""

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.kv.value import MemberLabels, Position
from jobs.settings import Settings

NextValue = Callable[[str, MemberLabels | None], MemberLabels | None]
"""(member_id, the value that stands) -> the value to put in its place; None leaves it."""


class StoreAwayError(MissingRequirementError):
    """The store does not answer, is full or refuses; nothing was changed, and a later try may do better."""


class PositionMovedError(CheckFailedError):
    """The store was fed or rebuilt by another one meanwhile; nothing was changed."""


class LabelStore(Protocol):
    """Values by member, and the position that belongs to them. Each method raises `StoreAwayError`."""

    def get(self, member_id: str) -> MemberLabels | None:
        """Return a member's value; also that of a member who was removed."""
        ...

    def position(self) -> Position | None:
        """Return up to where it was fed; None before it was ever filled."""
        ...

    def update(
        self, member_ids: Collection[str], change: NextValue, position: Position, *, expected: Position | None = None
    ) -> None:
        """Change members' values and set the position, all at once; a member who was forgotten gets none.

        Two at once do not lose each other's changes: each `change` sees what the other one left.

        Args:
            expected: the position that must stand; None: whichever does.
        Raises:
            PositionMovedError: another one stands.
        """
        ...

    def replace_all(self, values: Iterable[MemberLabels], position: Position) -> int:
        """Put these values in the place of all others; return how many. Readers see all the old ones or all the new."""
        ...

    def forget(self, member_id: str) -> bool:
        """Remove a member for good, and return whether there was a value; only the hash of the id is remembered."""
        ...

    def values(self) -> Iterator[MemberLabels]:
        """Return all values, in no order."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def open_store(settings: Settings) -> LabelStore:
    """Open the store of the settings; a folder is made on first use.

    A process opens it once: LMDB refuses to open a folder twice.
    """
    if settings.kv_url:
        from jobs.kv.redis_store import RedisStore

        return RedisStore(settings.kv_url, prefix=f"semlabel:{settings.environment}")
    from jobs.kv.lmdb_store import LmdbStore

    return LmdbStore(_folder(settings))


def store_is_there(settings: Settings) -> bool:
    """Whether there may be a store: a Redis is taken for there."""
    return bool(settings.kv_url) or _folder(settings).exists()


def _folder(settings: Settings) -> Path:
    return settings.home / "kv"
