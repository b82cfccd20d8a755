"""Histories for the model, drawn from a seed: changes of the world; triggers lost, doubled, late and reordered."""

import random
from collections.abc import Callable, Mapping, Sequence

from jobs.rules.labels import Label
from jobs.rules.standing import ROLLBACK
from tests.refresh_model import CatalogEntry, Labeler, Profile, Run, Store
from tests.rollback_model import Rollback
from tests.updates_model import ModelInbox, UpdateBatch

TEXTS = ("nurse", "welder", "singer", "coder")  # few, so that changes are taken back as well
ITEMS = ("nursing", "welding", "singing", "coding", "baking", "driving")
MEMBERS = ("ann", "bob", "cat", "dan", "eve")
ENTRIES = ("q1", "q2", "q3", "q4", "q5", "q6", "q7")
LABELERS = (Labeler("s", 0.5), Labeler("s", 0.3), Labeler("t", 0.5))
KINDS = ("daily_incremental", "catalog_backfill", "weekly_full")


class History:
    """One drawn history over a store: call `play`, then look at the store."""

    def __init__(
        self,
        seed: int,
        *,
        kinds: Sequence[str] = KINDS,
        changes: Sequence[str] = ("profile",),
        undoes: bool = False,
        streams: bool = False,
    ) -> None:
        self.draw = random.Random(seed)
        self.store, self.kinds, self.changes, self.undoes = Store(), kinds, changes, undoes
        self.streams, self.inbox = streams, ModelInbox()
        self.overwritten: list[str] = []  # runs that changed a label while its member was on hold
        self.workers: list[Run] = []
        self.n_triggers = 0
        self.store.catalog.append({key: CatalogEntry(self.draw.choice(ITEMS), "active") for key in ENTRIES[:5]})
        self.store.profiles.append({key: Profile(self.draw.choice(TEXTS), 1) for key in MEMBERS[:4]})

    def play(self, n_events: int) -> None:
        """Let events happen: a change, a trigger, a step of a worker, a death; where it undoes, a person's acts too."""
        events: list[Callable[[], None]] = [self._change, self._trigger, self._step, self._die]
        weights = [3 if self.changes else 0, 2 if self.kinds else 0, 9, 1]
        if self.undoes:
            events += [self._break_or_mend, self._revoke, self._roll_back, self._release]
            weights += [1, 1, 2, 1]
        if self.streams:
            events += [self._edit, self._take]
            weights += [3, 3]
        for _ in range(n_events):
            self.draw.choices(events, weights=weights)[0]()

    def end(self, *kinds: str) -> None:
        """Repair what can't be used, let every worker finish or die, release and revoke, and run once more, alone."""
        profiles = self.store.profiles[-1]
        self.store.profiles.append(
            {key: Profile(p.text or TEXTS[0], p.version + (p.text is None)) for key, p in profiles.items()}
        )
        self.draw.shuffle(self.workers)
        for worker in self.workers:
            if self.draw.random() < 0.8:
                worker.finish()
        self.store.engine = "good"
        if self.undoes:
            self.store.revoke(engine="broken")
            self.store.holds.clear()
        for number, kind in enumerate(kinds):
            Run(self.store, kind, f"quiet-{number}").finish()

    def _change(self) -> None:
        {"profile": self._change_profile, "catalog": self._change_catalog, "labeler": self._change_labeler}[
            self.draw.choice(self.changes)
        ]()

    def _change_profile(self) -> None:
        profiles, member = dict(self.store.profiles[-1]), self.draw.choice(MEMBERS)
        before = profiles.get(member)
        if before is not None and self.draw.random() < 0.25:
            del profiles[member]
        else:
            version = self.draw.randint(1, 3) if before is None else before.version + self.draw.choice((1, 1, 1, 0, -1))
            profiles[member] = Profile(self.draw.choice((*TEXTS, None)), version)
        self.store.profiles.append(profiles)

    def _change_catalog(self) -> None:
        catalog, key = dict(self.store.catalog[-1]), self.draw.choice(ENTRIES)
        if key in catalog and self.draw.random() < 0.3:
            del catalog[key]
        else:
            catalog[key] = CatalogEntry(self.draw.choice(ITEMS), self.draw.choice(("active", "active", "retired")))
        self.store.catalog.append(catalog)

    def _change_labeler(self) -> None:
        self.store.labeler = self.draw.choice(LABELERS)

    def _trigger(self) -> None:
        """One, none or two workers; now and then the same trigger once more, much later."""
        triggered = [worker for worker in self.workers if worker.kind in self.kinds]
        if triggered and self.draw.random() < 0.15:
            old = self.draw.choice(triggered)
            kind, trigger_id = old.run_id.rsplit("-", 1)
        else:
            self.n_triggers += 1
            kind, trigger_id = self.draw.choice(self.kinds), str(self.n_triggers)
        fails = {member: self.draw.random() < 0.1 for member in MEMBERS}
        for _ in range(self.draw.choices((1, 0, 2), weights=(7, 2, 1))[0]):
            recompute = self.undoes and self.draw.random() < 0.3
            self.workers.append(Run(self.store, kind, trigger_id, fails=fails, recompute=recompute))

    def _edit(self) -> None:
        """An edit comes by the stream: late, twice, or before an older one."""
        member, version = self.draw.choice(MEMBERS), self.draw.randint(2, 11 + len(self.workers))
        text = self.draw.choice((*TEXTS, None))  # a member without a text is removed
        self.inbox.put(member, version, text)

    def _take(self) -> None:
        """A worker takes a batch, which may be one that a dead worker had; there is one at a time."""
        if not any(isinstance(worker, UpdateBatch) and not worker.is_done for worker in self.workers):
            batch_id = self.inbox.take(limit=self.draw.randint(1, 3))
            if batch_id is not None:
                self.workers.append(UpdateBatch(self.store, self.inbox, batch_id))

    def drain(self) -> None:
        """Work on the updates until none is left; runs that were going on go on afterwards."""
        while (batch_id := self.inbox.take(limit=2)) is not None:
            UpdateBatch(self.store, self.inbox, batch_id).finish()
        self.workers = [worker for worker in self.workers if not isinstance(worker, UpdateBatch)]

    def _step(self) -> None:
        if open_ := [worker for worker in self.workers if not worker.is_done]:
            worker, held = self.draw.choice(open_), self._held_labels()
            worker.step()
            self._compare_held(worker, held)

    def _die(self) -> None:
        if open_ := [worker for worker in self.workers if not worker.is_done]:
            worker = self.draw.choice(open_)
            worker.die()
            if self.draw.random() < 0.3:
                self.workers.remove(worker)

    def _break_or_mend(self) -> None:
        self.store.engine = "good" if self.store.engine == "broken" else "broken"

    def _revoke(self) -> None:
        if self.store.commits:
            self.store.revoke(run_id=self.draw.choice(self.store.commits))

    def _roll_back(self) -> None:
        committed = [run_id for run_id in self.store.commits if run_id in self.store.events]
        if committed:
            self.n_triggers += 1
            undone, is_forced = self.draw.choice(committed[-3:]), self.draw.random() < 0.3
            self.workers.append(Rollback(self.store, undone, str(self.n_triggers), is_forced=is_forced))

    def _release(self) -> None:
        if self.store.holds:
            del self.store.holds[self.draw.choice(sorted(self.store.holds))]

    def _held_labels(self) -> dict[str, dict[str, Label]]:
        """Return the labels of each member that a rollback has restored and nobody has released."""
        stands = {member: self.store.published(member).stands for member in MEMBERS} if self.store.holds else {}
        held = {member for member, row in stands.items() if row is not None and row.run_id in self.store.holds}
        return {
            member: {key: label for (owner, key), label in self.store.labels.items() if owner == member}
            for member in held
        }

    def _compare_held(self, worker: Run, held: Mapping[str, Mapping[str, Label]]) -> None:
        """Only another rollback, or the removal of the member, may change what is on hold."""
        for member, labels in held.items():
            now = {key: label for (owner, key), label in self.store.labels.items() if owner == member}
            if now != labels and now and worker.kind != ROLLBACK:
                self.overwritten.append(worker.run_id)
