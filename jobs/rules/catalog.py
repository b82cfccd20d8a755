"""What happened to a catalog entry between two versions of the catalog."""

from collections.abc import Collection
from typing import Literal, NamedTuple, get_args

EntryChange = Literal["removed", "retired", "text_changed", "category_changed", "added"]
"""What costs labels first, then what may change them, then what can only add some."""


class EntryState(NamedTuple):
    """An entry in one version.

    Attributes:
        rows: with its id; an entry that stands twice can't be used.
        category, text, status: of the row; of several rows those that sort last.
    """

    rows: int
    category: str | None
    text: str | None
    status: str | None

    @property
    def is_usable(self) -> bool:
        """Whether it can be retrieved, as far as the catalog says."""
        return self.rows == 1 and self.status == "active" and bool((self.text or "").strip())


def entry_changes(then: EntryState | None, now: EntryState | None) -> tuple[EntryChange, ...]:
    """Return what happened to an entry; nothing where it could be used in neither version.

    Args:
        then, now: None where the version does not have it.
    """
    was, is_ = then is not None and then.is_usable, now is not None and now.is_usable
    if was and is_:
        found: list[EntryChange] = []
        if then.text != now.text:  # type: ignore[union-attr]
            found.append("text_changed")
        if then.category != now.category:  # type: ignore[union-attr]
            found.append("category_changed")
        return tuple(found)
    if is_:
        return ("added",)
    if was:
        return ("retired",) if now is not None and now.status == "retired" else ("removed",)
    return ()


def by_what_matters(
    changes: Collection[EntryChange], then: EntryState | None, now: EntryState | None
) -> tuple[int, str]:
    """Sort changed entries: by the kind of change, in the order of `EntryChange`, then by the text that people know."""
    kind = min(get_args(EntryChange).index(change) for change in changes)
    texts = [state.text for state in (then, now) if state is not None and state.text]
    return kind, next(iter(texts), "").casefold()


def opens_no_slot(changes: Collection[EntryChange]) -> bool:
    """Whether candidates that were retrieved before still are the best there are, but for those that went.

    An entry that went leaves an empty slot; a new entry or text would take a place of its own.
    """
    return not {"added", "text_changed"} & set(changes)
