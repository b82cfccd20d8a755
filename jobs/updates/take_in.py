"""Take updates from any source that can be iterated: a file, a queue, a change feed."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jobs.errors import FaultsError
from jobs.updates.inbox import Inbox, Outcome
from jobs.updates.update import ProfileUpdate, faults_of


def take_in(inbox: Inbox, source: Iterable[ProfileUpdate]) -> Iterator[tuple[ProfileUpdate, Outcome]]:
    """Put each update into the inbox, and yield it with its outcome once it is on disk.

    A source that has to be acknowledged is acknowledged by whoever iterates over this: what was not yielded may come
    again.

    Raises:
        FaultsError: an update is faulty; those before it are in.
        InboxFullError: as many wait as may; those before it are in, and come to nothing when they are sent again.
    """
    for update in source:
        if faults := faults_of([update]):
            raise FaultsError("profile update", faults)
        yield update, inbox.put([update])[0]


def read_lines(file: Path) -> Iterator[ProfileUpdate]:
    """Return the updates of a file of JSON lines: member_id, profile_version, and profile_text or "removed": true.

    Raises:
        FaultsError: names the line.
    """
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            yield _update_of(line, f"{file}, line {number}")


def _update_of(line: str, place: str) -> ProfileUpdate:
    try:
        row: dict[str, Any] = json.loads(line)
        is_removed = row.get("removed", False)
        if is_removed == ("profile_text" in row):
            raise FaultsError(place, ["say profile_text or removed, and not both"])
        return ProfileUpdate(
            member_id=str(row["member_id"]),
            profile_version=int(row["profile_version"]),
            profile_text=None if is_removed else str(row["profile_text"]),
        )
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise FaultsError(place, [f"no update: {type(error).__name__}: {error}"]) from error
