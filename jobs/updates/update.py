"""One edit of a profile as a source sends it, and what may be wrong with one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_ID_CHARACTERS = 500
MAX_TEXT_CHARACTERS = 200_000  # far beyond any model's context; a longer one would only wait to be refused
_MAX_VERSION = 2**63 - 1  # column profile_version


@dataclass(frozen=True, kw_only=True)
class ProfileUpdate:
    """A member's profile as of a version.

    Attributes:
        profile_version: given by the source, growing per member; of two edits the higher one is the newer.
        profile_text: None where the member was removed.
    """

    member_id: str
    profile_version: int
    profile_text: str | None


def faults_of(updates: Iterable[ProfileUpdate]) -> list[str]:
    """Return one sentence for each fault of each update; never a value of a text."""
    return [f"update {place}: {fault}" for place, update in enumerate(updates) for fault in _faults(update)]


def _faults(update: ProfileUpdate) -> Iterator[str]:
    if not update.member_id.strip():
        yield "member_id is empty: name the member"
    if len(update.member_id) > MAX_ID_CHARACTERS:
        yield f"member_id has {len(update.member_id)} characters, at most {MAX_ID_CHARACTERS} are taken"
    if "\x00" in update.member_id:
        yield "member_id holds the character U+0000, which no store keeps"
    if not 0 <= update.profile_version <= _MAX_VERSION:
        yield f"profile_version is {update.profile_version}: give a whole number from 0 to {_MAX_VERSION}"
    text = update.profile_text
    if text is not None and len(text) > MAX_TEXT_CHARACTERS:
        yield f"profile_text has {len(text)} characters, at most {MAX_TEXT_CHARACTERS} are taken"
    if text is not None and "\x00" in text:
        yield "profile_text holds the character U+0000, which no store keeps"
