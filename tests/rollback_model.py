"""A rollback over the tables in memory of `tests.refresh_model`."""

from collections.abc import Mapping
from typing import Any

from jobs.rules import rollback as rollback_rules
from jobs.rules.hold import Hold
from jobs.rules.labels import Label
from jobs.rules.standing import ROLLBACK, Covered
from tests.refresh_model import Run, Store


class Rollback(Run):
    """One worker of a rollback: it takes the labels back to what they were before a run, and holds the members."""

    def __init__(self, store: Store, rolls_back: str, trigger_id: str, *, is_forced: bool = False) -> None:
        self.rolls_back, self.is_forced = rolls_back, is_forced
        super().__init__(store, ROLLBACK, trigger_id)

    def die(self) -> None:
        super().die()
        self._steps.remove(self._scope)

    def _pin(self) -> None:
        is_first = self.run_id not in self.store.pins  # a hold that was released is not placed again
        super()._pin()
        if is_first:
            self.store.holds[self.run_id] = Hold(hold_id=self.run_id, input="members", value=self.run_id)

    def _find(self) -> None:
        store = self.store
        rows = {member: self._restored(member) for member in self._covered()}
        store.coverage[self.run_id] = {member: row for member, row in rows.items() if row is not None}
        before = self._labels_before()
        members = {member for member, row in store.coverage[self.run_id].items() if row["is_complete"]}
        self._changes = {
            key: label for key, label in before.items() if key[0] in members and store.labels.get(key) != label
        }

    def _covered(self) -> list[str]:
        return [member for member, row in self.store.coverage[self.rolls_back].items() if row["is_complete"]]

    def _restored(self, member: str) -> dict[str, Any] | None:
        """The coverage row of the rollback; None for a member who is gone."""
        store, publication = self.store, self.store.events[self.rolls_back]
        ran, stands = Covered(**store.coverage[self.rolls_back][member] | {"publication": 0}), store.published(member)
        assert stands.stands is not None
        fate = rollback_rules.member_fate(
            ran,
            stands.stands,
            is_changed_since=any(
                key[0] == member
                for run, number in store.events.items()
                if number > publication
                for key in store.changes[run]
            ),
            is_present=self._profile(member) is not None,
            is_forced=self.is_forced,
        )
        if fate == "gone":
            return None
        earlier = store.published(member, before=publication).stands
        state: dict[str, Any] = {"run_id": self.run_id}
        if fate == "restored":
            origin = self.run_id if earlier is None else earlier.restored_run_id or earlier.run_id
            row = vars(earlier or ran) | state | {"restored_run_id": origin}
        else:
            row = vars(ran) | state | {"is_complete": False, "incomplete_reason": "superseded", "restored_run_id": None}
        return {name: value for name, value in row.items() if name != "publication"}

    def _labels_before(self) -> Mapping[tuple[str, str], Label | None]:
        """Of each label that the run or a later one has changed, what stood before."""
        store, first = self.store, self.store.events[self.rolls_back]
        runs = sorted((number, run) for run, number in store.events.items() if number >= first)
        found: dict[tuple[str, str], Label | None] = {}
        for _, run in runs:
            for key, (before, _) in store.changes[run].items():
                entry = self._entry(key[1])
                found.setdefault(key, rollback_rules.restored_label(before, status=entry.status if entry else None))
        return found
