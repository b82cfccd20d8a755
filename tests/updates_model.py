"""Profile updates over the tables in memory of `tests.refresh_model`: an inbox, and a worker of a micro-batch."""

from collections.abc import Mapping
from typing import NamedTuple

from jobs.rules.standing import PROFILE_UPDATES
from tests.refresh_model import Profile, Run, Store


class Edit(NamedTuple):
    """A profile as of a version; without a text the member is removed."""

    version: int
    text: str | None


class ModelInbox:
    """What `jobs.updates.inbox` keeps: the newest edit of each member waits, a batch stays until it is finished."""

    def __init__(self) -> None:
        self.newest: dict[str, Edit] = {}
        self.waiting: dict[str, Edit] = {}
        self.taken: dict[str, dict[str, Edit]] = {}
        self.n_batches = 0

    def put(self, member: str, version: int, text: str | None) -> None:
        if member not in self.newest or version > self.newest[member].version:
            self.newest[member] = self.waiting[member] = Edit(version, text)

    def take(self, limit: int) -> str | None:
        if not self.taken and self.waiting:
            self.n_batches += 1
            members = list(self.waiting)[:limit]
            self.taken[f"batch-{self.n_batches}"] = {member: self.waiting.pop(member) for member in members}
        return next(iter(self.taken), None)

    def finish(self, batch_id: str) -> None:
        self.taken.pop(batch_id, None)


def merge(profiles: Mapping[str, Profile], edits: Mapping[str, Edit]) -> dict[str, Profile]:
    """Return the profiles with the edits that are newer than what stands."""
    merged = dict(profiles)
    for member, edit in edits.items():
        if member not in merged or edit.version > merged[member].version:
            merged.pop(member, None)
            if edit.text is not None:
                merged[member] = Profile(edit.text, edit.version)
    return merged


class UpdateBatch(Run):
    """One worker of a micro-batch: merges the profiles, and goes on as a run over the batch's members."""

    def __init__(self, store: Store, inbox: ModelInbox, batch_id: str) -> None:
        self.inbox, self.batch_id, self.edits = inbox, batch_id, inbox.taken[batch_id]
        super().__init__(store, PROFILE_UPDATES, batch_id)

    def die(self) -> None:
        super().die()
        self._steps.insert(0, self._merge)

    def _merge(self) -> None:
        if self.batch_id not in self.inbox.taken:  # a worker that starts again finds what is in the inbox
            self._steps = []
            return
        merged = merge(self.store.profiles[-1], self.edits)
        if merged != self.store.profiles[-1]:
            self.store.profiles.append(merged)

    def _looked_at(self) -> set[str]:
        return set(self.edits)

    def _close(self) -> None:
        super()._close()
        self.inbox.finish(self.batch_id)
