"""A refresh over tables in memory: the rules of `jobs.rules` decide, everything else is as small as can be.

A run is a chain of steps; between any two of them the world may change, another run may step, and this one may die.
What a step leaves behind is what the real one leaves behind: pins, scope, candidates, coverage, one commit on the
labels, an event.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

from jobs.rules import catalog as catalog_rules
from jobs.rules import hold as hold_rules
from jobs.rules import labels as label_rules
from jobs.rules import revocation as revocation_rules
from jobs.rules import scope as scope_rules
from jobs.rules import standing as standing_rules
from jobs.rules.catalog import EntryState
from jobs.rules.hold import Hold
from jobs.rules.labels import Entry, Label
from jobs.rules.revocation import Judged, Revocation
from jobs.rules.standing import Covered, MemberPins
from mis_scoring.core.rounds import RoundRule

EPOCH = datetime(2026, 1, 1)
K = 5
_VERSIONS = ("profiles_delta_version", "catalog_delta_version")
RULE = RoundRule(candidates_per_round=2, stop_below=0.5)


class Profile(NamedTuple):
    """A row of `profiles`; without a text it can't be used."""

    text: str | None
    version: int


class CatalogEntry(NamedTuple):
    """A row of `catalog`."""

    text: str
    status: str


class Labeler(NamedTuple):
    """A scorer and its threshold."""

    scorer_id: str
    threshold: float

    @property
    def artifact_id(self) -> str:
        return f"{self.scorer_id}@{self.threshold}"


Labels = dict[tuple[str, str], Label]
Catalog = Mapping[str, CatalogEntry]
Score = Callable[[str, str], float]
"""(query, item) -> score."""


class Judgment(NamedTuple):
    """A row of `judgments` under its scorer, query and item."""

    score: float
    generation: int
    source: Judged


@cache
def _draw(*parts: str) -> float:
    """A number in [0, 1) that only the parts decide."""
    return int.from_bytes(hashlib.sha256("|".join(parts).encode()).digest()[:4], "big") / 2**32


@lru_cache(maxsize=100_000)
def retrieve(text: str, catalog: frozenset[tuple[str, CatalogEntry]]) -> tuple[str, ...]:
    """Return the ids of a profile's candidates, best first."""
    active = [(key, entry.text) for key, entry in catalog if entry.status == "active"]
    return tuple(key for key, _ in sorted(active, key=lambda item: (_draw("similarity", text, item[1]), item[0]))[:K])


def evaluate(
    text: str, candidates: tuple[str, ...], catalog: Catalog, labeler: Labeler, score_of: Score
) -> dict[str, Label]:
    """Return the labels of a profile: walk the rounds, accept. A candidate that went leaves its slot empty."""
    found = {}
    for first in range(0, len(candidates), RULE.candidates_per_round):
        slots = [(key, catalog.get(key)) for key in candidates[first : first + RULE.candidates_per_round]]
        judged = [(key, entry.text) for key, entry in slots if entry is not None and entry.status == "active"]
        scores = {key: (score_of(text, item), item) for key, item in judged}
        accepted = {key: pair for key, pair in scores.items() if pair[0] >= labeler.threshold}
        for key, (score, item) in accepted.items():
            found[key] = Label(
                score=score,
                threshold=labeler.threshold,
                artifact_id=labeler.artifact_id,
                query_hash=text,
                item_hash=item,
            )
        outcome = RULE.outcome(judged=len(judged), accepted=len(accepted), missing=0, is_last_round=False)
        if outcome != "goes_on":
            break
    return found


@dataclass
class Store:
    """All tables, and the clock."""

    profiles: list[dict[str, Profile]] = field(default_factory=lambda: [{}])
    catalog: list[dict[str, CatalogEntry]] = field(default_factory=lambda: [{}])
    labeler: Labeler = field(default_factory=lambda: Labeler("s", 0.5))
    minutes: int = 0
    pins: dict[str, "Pinned"] = field(default_factory=dict)
    scope: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    retrieved: dict[str, dict[str, int | None]] = field(default_factory=dict)  # versions of the catalog
    candidates: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    coverage: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)  # published: the version of `labels` that stood then
    labels: Labels = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)  # on `labels`: run ids
    changes: dict[str, dict[tuple[str, str], tuple[Label | None, Label | None]]] = field(default_factory=dict)
    engine: str = "good"
    judgments: dict[tuple[str, str, str], list[Judgment]] = field(default_factory=lambda: defaultdict(list))
    revocations: list[Revocation] = field(default_factory=list)
    holds: dict[str, Hold] = field(default_factory=dict)

    def now(self) -> datetime:
        self.minutes += 1
        return EPOCH + timedelta(minutes=self.minutes)

    def published(self, member_id: str, *, before: float = math.inf) -> standing_rules.Published:
        return standing_rules.published(
            Covered(**self.coverage[run][member_id] | {"publication": publication})
            for run, publication in self.events.items()
            if member_id in self.coverage[run] and publication < before
        )

    def is_revoked(self, member_id: str, as_of: datetime) -> bool:
        stands, known = self.published(member_id).stands, [one for one in self.revocations if one.at <= as_of]
        if stands is None or not known:
            return False
        of_query = (
            judgment
            for (scorer, query, _), found in self.judgments.items()
            if (scorer, query) == (stands.scorer_id, stands.profile_hash)
            for judgment in found
        )
        withdrawn = [revocation_rules.withdrawn_at(judgment.source, known) for judgment in of_query]
        return revocation_rules.stands_on_revoked(stands.pinned_at, withdrawn)

    def revoke(self, *, engine: str | None = None, run_id: str | None = None) -> None:
        now = self.now()
        self.revocations.append(
            Revocation(revocation_id=str(now), fingerprint=engine, run_id=run_id, since=None, until=now, at=now)
        )

    def covered_members(self) -> set[str]:
        return {member for run in self.events for member in self.coverage[run]}

    def repair_events(self) -> None:
        for version, run_id in enumerate(self.commits, start=1):
            self.events.setdefault(run_id, version)

    def expected(self, *, keeps_slots: bool = False) -> Labels:
        """Label everyone from scratch, with an engine that is not broken.

        Args:
            keeps_slots: from the catalog that each member was retrieved from, if all that is active now was there then.
        """
        score_of, now, found = partial(_draw, self.labeler.scorer_id), self.catalog[-1], Labels()
        for member, profile in self.profiles[-1].items():
            if profile.text is not None:
                then = self.catalog[self._retrieved_from(member)] if keeps_slots else now
                candidates = retrieve(profile.text, frozenset(then.items()))
                labels = evaluate(profile.text, candidates, now, self.labeler, score_of)
                found |= {(member, key): label for key, label in labels.items()}
        return found

    def _retrieved_from(self, member: str) -> int:
        stands, now = self.published(member).stands, self.catalog[-1]
        version = None if stands is None else stands.retrieval_delta_version
        active = {key: entry for key, entry in now.items() if entry.status == "active"}
        if version is None or active.items() - self.catalog[version].items():
            return -1
        return version

    def retired_since(self, now: int) -> set[int]:
        """The versions of the catalog since which entries were only retired or removed."""
        return {then for then in range(now + 1) if self._opens_no_slot(then, now)}

    def _opens_no_slot(self, then: int, now: int) -> bool:
        before, after = self.catalog[then], self.catalog[now]
        changes = (catalog_rules.entry_changes(_state(before.get(k)), _state(after.get(k))) for k in {*before, *after})
        return all(catalog_rules.opens_no_slot(change) for change in changes)


def _state(entry: CatalogEntry | None) -> EntryState | None:
    return None if entry is None else EntryState(1, "skill", entry.text, entry.status)


class Pinned(NamedTuple):
    """What a run resolved once."""

    run_id: str
    kind: str
    profiles_version: int
    catalog_version: int
    labeler: Labeler
    pinned_at: datetime
    generation: int = 0


class Run:
    """One worker of a run. `step` does the next thing; `die` forgets all that is not in the store."""

    def __init__(
        self,
        store: Store,
        kind: str,
        trigger_id: str,
        *,
        fails: Mapping[str, bool] | None = None,
        recompute: bool = False,
    ) -> None:
        self.store, self.kind, self.run_id = store, kind, f"{kind}-{trigger_id}"
        self.fails, self.recompute = fails or {}, recompute
        self.die()

    def die(self) -> None:
        self._steps = [self._pin, self._scope, self._publish, self._commit, self._close]
        self._base = 0
        self._changes: dict[tuple[str, str], Label | None] = {}

    @property
    def is_done(self) -> bool:
        return not self._steps

    @property
    def scoped(self) -> dict[str, str]:
        return {member: reasons[0] for member, reasons in self.store.scope[self.run_id].items()}

    def step(self) -> None:
        self._steps.pop(0)()

    def finish(self) -> None:
        while not self.is_done:
            self.step()

    def _pin(self) -> None:
        store = self.store
        store.repair_events()
        pinned = Pinned(
            self.run_id,
            self.kind,
            len(store.profiles) - 1,
            len(store.catalog) - 1,
            store.labeler,
            store.now(),
            self._next_generation() if self.recompute else 0,
        )
        self._pins = store.pins.setdefault(self.run_id, pinned)

    def _scope(self) -> None:
        """Say who is looked at, and retrieve all who do not keep their candidates. The first scope stands."""
        store = self.store
        if self.run_id in store.scope:
            return
        reasons = {
            member: scope_rules.scope_reasons(
                self.kind,
                self._now(member),
                store.published(member),
                is_revoked=store.is_revoked(member, self._pins.pinned_at),
                holds=store.holds.values(),
            )
            for member in sorted(self._looked_at())
        }
        found = {member: (why, *self._retrieve(member, why)) for member, why in reasons.items() if why}
        store.scope[self.run_id] = {member: why for member, (why, _, _) in found.items()}
        store.retrieved[self.run_id] = {member: version for member, (_, version, _) in found.items()}
        store.candidates[self.run_id] = {member: candidates for member, (_, _, candidates) in found.items()}

    def _looked_at(self) -> set[str]:
        return {*self.store.profiles[self._pins.profiles_version], *self.store.covered_members()}

    def _retrieve(self, member: str, why: tuple[Any, ...]) -> tuple[int | None, tuple[str, ...]]:
        """Return the version of the catalog that the candidates come from, and them."""
        now, stands, profile = self._pins.catalog_version, self.store.published(member).stands, self._profile(member)
        if stands and scope_rules.keeps_candidates(self.kind, why, stands, self.store.retired_since(now)):
            return stands.retrieval_delta_version, self.store.candidates[stands.run_id][member]
        if profile is None or profile.text is None:
            return None, ()
        return now, retrieve(profile.text, frozenset(self._catalog().items()))

    def _publish(self) -> None:
        """Compute against the labels that stand, and leave coverage behind."""
        store = self.store
        if self.run_id in store.commits or self.run_id in store.events:
            self._steps = [self._close]
            return
        self._base = len(store.commits)
        store.repair_events()
        self._find()
        store.changes[self.run_id] = {key: (store.labels.get(key), label) for key, label in self._changes.items()}

    def _find(self) -> None:
        """Leave coverage behind, and find the labels that the run changes."""
        rows = {member: self._row(member) for member in self.store.scope[self.run_id]}
        self.store.coverage[self.run_id] = rows
        self._changes = {}
        for member, row in rows.items():
            if row["is_complete"]:
                self._compare(member)

    def _commit(self) -> None:
        """Swap, if nobody else has since `_publish`."""
        n_open = len(self.store.pins.keys() - self.store.events.keys() - {self.run_id})
        if not standing_rules.needs_commit(self.kind, n_changes=len(self._changes), n_others_open=n_open):
            return
        if len(self.store.commits) != self._base:
            self._steps = [self._publish, self._commit, self._close]
            return
        self.store.commits.append(self.run_id)
        for key, label in self._changes.items():
            if label is None:
                del self.store.labels[key]
            else:
                self.store.labels[key] = label

    def _close(self) -> None:
        commits = self.store.commits
        publication = commits.index(self.run_id) + 1 if self.run_id in commits else self._base
        self.store.events.setdefault(self.run_id, publication)

    def _row(self, member: str) -> dict[str, Any]:
        now, profile = self._now(member), self._profile(member)
        state = None
        if profile is not None:
            state = "quarantined" if profile.text is None else "incomplete" if self.fails.get(member) else None
        mine = now or self._pinned(member, None)
        stands = self.store.published(member).stands
        if hold_rules.is_on_hold(now, stands, self.store.holds.values()):
            state = "on_hold"
        reason = standing_rules.standing(mine, stands) or state
        state = {"candidates": K, "judged": 0, "is_complete": reason is None, "incomplete_reason": reason}
        if reason is None:
            state |= dict(zip(_VERSIONS, standing_rules.versions_covered(mine, stands), strict=True))
        return vars(mine) | state | {"retrieval_delta_version": self.store.retrieved[self.run_id][member]}

    def _compare(self, member: str) -> None:
        profile = self._profile(member)
        found: dict[str, Label] = {}
        if profile is not None and profile.text is not None:
            candidates = self.store.candidates[self.run_id][member]
            found = evaluate(profile.text, candidates, self._catalog(), self._pins.labeler, self._judge)
        published = {key for owner, key in self.store.labels if owner == member}
        for key in sorted({*found, *published}):
            before, after = self.store.labels.get((member, key)), found.get(key)
            if label_rules.label_change(before, after, self._entry(key), is_member_removed=profile is None):
                self._changes[member, key] = after

    def _judge(self, text: str, item: str) -> float:
        """Reuse what may be used, as of the pin; score the rest with the engine as it is."""
        store, pins = self.store, self._pins
        known = store.judgments[pins.labeler.scorer_id, text, item]
        honoured = [one for one in store.revocations if one.at <= pins.pinned_at]
        usable = [
            judgment
            for judgment in known
            if judgment.generation >= pins.generation
            and revocation_rules.withdrawn_at(judgment.source, honoured) is None
        ]
        if not usable:
            broken = () if store.engine == "good" else (store.engine,)
            source = Judged(engine=store.engine, run_id=self.run_id, judged_at=store.now())
            usable = [Judgment(_draw(*broken, pins.labeler.scorer_id, text, item), pins.generation, source)]
            known += usable
        return max(usable, key=lambda judgment: judgment.generation).score

    def _next_generation(self) -> int:
        scorer_id = self.store.labeler.scorer_id
        found = (j.generation for key, known in self.store.judgments.items() if key[0] == scorer_id for j in known)
        return max(found, default=0) + 1

    def _catalog(self) -> dict[str, CatalogEntry]:
        return self.store.catalog[self._pins.catalog_version]

    def _entry(self, key: str) -> Entry | None:
        entry = self._catalog().get(key)
        return None if entry is None else Entry(status=entry.status, item_hash=entry.text, is_quarantined=False)

    def _profile(self, member: str) -> Profile | None:
        return self.store.profiles[self._pins.profiles_version].get(member)

    def _now(self, member: str) -> MemberPins | None:
        profile = self._profile(member)
        return None if profile is None else self._pinned(member, profile)

    def _pinned(self, member: str, profile: Profile | None) -> MemberPins:
        pins = self._pins
        return MemberPins(
            run_id=self.run_id,
            profile_hash=None if profile is None else profile.text,
            profile_version=None if profile is None else profile.version,
            profiles_delta_version=pins.profiles_version,
            catalog_version=str(sorted(self._catalog().items())),
            catalog_delta_version=pins.catalog_version,
            artifact_id=pins.labeler.artifact_id,
            scorer_id=pins.labeler.scorer_id,
            retriever_id="r",
            candidates_per_member=K,
            pinned_at=pins.pinned_at,
        )
