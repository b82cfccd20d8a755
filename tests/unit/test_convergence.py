"""Whatever happens to triggers, runs and inputs: after a quiet run the labels are those of labelling all from scratch.

1,000 histories over tables in memory; the rules that decide are those of the jobs (`jobs.rules`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from jobs.rules import catalog, hold, revocation, scope, standing
from jobs.rules.standing import MemberPins, Published
from tests.refresh_histories import ITEMS, History
from tests.refresh_model import CatalogEntry, Labeler, Profile, Run, Store
from tests.rollback_model import Rollback

PROFILES, CATALOG, LABELER = ("profile",), ("profile", "catalog"), ("profile", "profile", "catalog", "labeler")


def diverging(seeds: Iterable[int], changes: tuple[str, ...], *quiet: str) -> list[int]:
    """Return the seeds whose history does not end with the expected labels.

    A backfill leaves the slots of retired candidates empty, so after it each member's labels are those of the catalog
    that it was retrieved from, since which entries only went; a weekly run closes the slots.
    """
    found = []
    for seed in seeds:
        history = History(seed, changes=changes)
        history.play(60)
        history.end(*quiet)
        if history.store.labels != history.store.expected(keeps_slots=quiet[-1] == "catalog_backfill"):
            found.append(seed)
    return found


@pytest.mark.parametrize(
    ("seeds", "changes", "quiet"),
    [
        (range(0, 400), PROFILES, ("daily_incremental",)),
        (range(400, 700), CATALOG, ("catalog_backfill",)),
        (range(400, 500), CATALOG, ("catalog_backfill", "weekly_full")),
        (range(700, 1000), LABELER, ("daily_incremental", "weekly_full")),
    ],
    ids=["profiles-daily", "catalog-backfill", "catalog-backfill-weekly", "labeler-weekly"],
)
def test_a_quiet_run_of_the_kind_that_looks_after_it_leaves_nothing_stale(
    seeds: range, changes: tuple[str, ...], quiet: tuple[str, ...]
) -> None:
    assert diverging(seeds, changes, *quiet) == []


UNDOING = [
    (range(1000, 1150), PROFILES, ("daily_incremental",)),
    (range(1150, 1300), CATALOG, ("catalog_backfill",)),
    (range(1300, 1450), LABELER, ("daily_incremental", "weekly_full")),
]


def undone(seeds: Iterable[int], changes: tuple[str, ...], *quiet: str) -> tuple[list[int], list[str]]:
    """Play histories in which engines break, runs are rolled back, holds released and judgments revoked.

    Returns:
        the seeds that do not end with the expected labels, and the runs that changed what was on hold.
    """
    diverging, overwritten = [], []
    for seed in seeds:
        history = History(seed, changes=changes, undoes=True)
        history.play(80)
        history.end(*quiet)
        overwritten += history.overwritten
        if history.store.labels != history.store.expected(keeps_slots=quiet[-1] == "catalog_backfill"):
            diverging.append(seed)
    return diverging, overwritten


@pytest.mark.parametrize(("seeds", "changes", "quiet"), UNDOING, ids=["profiles", "catalog", "labeler"])
def test_what_was_undone_stays_undone_and_once_released_and_revoked_a_quiet_run_leaves_nothing_stale(
    seeds: range, changes: tuple[str, ...], quiet: tuple[str, ...]
) -> None:
    assert undone(seeds, changes, *quiet) == ([], [])


@pytest.mark.parametrize("commits", [standing.needs_commit, lambda kind, n_changes, n_others_open: n_changes > 0])
def test_a_rollback_that_changes_no_label_is_seen_by_a_run_that_had_looked_for_holds(
    commits: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of 4,500 drawn histories have one beside a run that publishes after it."""
    is_broken = commits is not standing.needs_commit
    monkeypatch.setattr(standing, "needs_commit", commits)
    for seed, changes, quiet in [(4448, CATALOG, UNDOING[1][2]), (4439, LABELER, UNDOING[2][2])]:
        diverging_seeds, overwritten = undone([seed], changes, *quiet)
        assert diverging_seeds == [] and (overwritten != []) == is_broken


_differences = scope._differences


def take_restored_for_evaluated(now: MemberPins, before: Published) -> Iterator[scope.Reason]:
    """Forget that a rollback wrote the row that stands."""
    stands = None if before.stands is None else replace(before.stands, restored_run_id=None)
    return _differences(now, replace(before, stands=stands))


@pytest.mark.parametrize(
    ("module", "rule", "broken"),
    [
        (revocation, "stands_on_revoked", lambda pinned_at, withdrawn: False),
        (revocation, "_fits", lambda one, judgment: False),
        (hold, "is_on_hold", lambda now, stands, holds: False),
        (scope, "_differences", take_restored_for_evaluated),
    ],
    ids=["revoked scope", "revoked judgments", "hold", "rolled-back scope"],
)
def test_a_broken_rule_of_undoing_is_found_by_the_same_histories(
    module: Any, rule: str, broken: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, rule, broken)
    seeds, changes, quiet = UNDOING[0]
    assert undone(seeds[:60], changes, *quiet) != ([], [])


def nobody_is_gone(kind: str, before: Published) -> tuple[()]:
    """Look at those only who have a profile."""
    return ()


def by_source_version(mine: MemberPins, theirs: MemberPins) -> int:
    """Believe the source's version over the table's, though a source may take a version back."""
    if mine.profile_hash == theirs.profile_hash:
        return 0
    mine_at, theirs_at = mine.profile_version or 0, theirs.profile_version or 0
    return int(theirs_at > mine_at) - int(theirs_at < mine_at)


@pytest.mark.parametrize(
    ("module", "rule", "broken", "changes", "quiet"),
    [
        (scope, "_gone", nobody_is_gone, PROFILES, "daily_incremental"),
        (standing, "_profile_order", by_source_version, PROFILES, "daily_incremental"),
        (Store, "repair_events", lambda store: None, PROFILES, "daily_incremental"),
        (catalog, "opens_no_slot", lambda changes: "added" not in changes, CATALOG, "catalog_backfill"),
    ],
    ids=["removal", "standing", "repair", "slots"],
)
def test_a_broken_rule_is_found_by_the_same_histories(
    module: Any,
    rule: str,
    broken: Callable[..., Any],
    changes: tuple[str, ...],
    quiet: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, rule, broken)
    assert any(diverging([seed], changes, quiet) for seed in range(400))


@pytest.fixture
def store() -> Store:
    """Ann is labelled as a nurse."""
    store = Store()
    store.catalog.append({f"q{n}": CatalogEntry(item, "active") for n, item in enumerate(ITEMS)})
    put(store, ann="nurse")
    run(store, "weekly_full", "first").finish()
    assert store.labels == store.expected() != {}
    return store


def put(store: Store, **texts: str | None) -> None:
    """Make these the profiles, under a higher version."""
    version = len(store.profiles)
    store.profiles.append({member: Profile(text, version) for member, text in texts.items()})


def run(store: Store, kind: str, trigger_id: str, *, n_steps: int = 0, **fails: bool) -> Run:
    """Start a worker and let it do its first steps: pin, scope, publish (compute), commit, close."""
    worker = Run(store, kind, trigger_id, fails=fails)
    for _ in range(n_steps):
        worker.step()
    return worker


def test_the_older_of_two_runs_never_wins(store: Store) -> None:
    put(store, ann="welder")
    late = run(store, "daily_incremental", "late", n_steps=2)
    put(store, ann="singer")
    run(store, "daily_incremental", "newer").finish()
    commits = list(store.commits)
    late.finish()
    assert store.labels == store.expected() and store.commits == commits
    assert store.coverage[late.run_id]["ann"]["incomplete_reason"] == "superseded"
    assert run(store, "daily_incremental", "next", n_steps=2).scoped == {}, "what is superseded is done"


def test_of_two_that_computed_against_the_same_labels_one_computes_again(store: Store) -> None:
    put(store, ann="nurse", bob="welder")
    older = run(store, "daily_incremental", "older", n_steps=3)
    put(store, ann="coder", bob="coder")
    newer = run(store, "daily_incremental", "newer", n_steps=3)
    newer.finish()
    older.finish()
    assert store.labels == store.expected()
    assert older.run_id not in store.commits


def test_a_run_published_twice_is_one_commit(store: Store) -> None:
    put(store, ann="welder")
    workers = [run(store, "daily_incremental", "doubled", n_steps=3) for _ in range(2)]
    for worker in workers:
        worker.finish()
    run(store, "daily_incremental", "doubled").finish()
    assert store.commits.count("daily_incremental-doubled") == 1
    assert store.labels == store.expected()


def test_a_commit_that_overtook_a_run_without_changes_is_found_by_the_next_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that changes nothing makes no commit, so one that computed before it can still commit an older state."""

    def overtake(store: Store) -> None:
        put(store, ann="welder")
        older = run(store, "daily_incremental", f"older-{store.minutes}", n_steps=3)
        put(store, ann="nurse")
        run(store, "weekly_full", f"newer-{store.minutes}").finish()
        older.finish()
        assert store.labels != store.expected()
        run(store, "daily_incremental", f"next-{store.minutes}").finish()

    overtake(store)
    assert store.labels == store.expected()

    published = standing.published
    monkeypatch.setattr(standing, "published", lambda rows: published([replace(row, publication=0) for row in rows]))
    overtake(store)
    assert store.labels != store.expected(), "by the newest pins alone it would stay"


def test_an_incomplete_member_is_taken_up_by_the_next_run_of_any_kind(store: Store) -> None:
    store.labeler = Labeler("t", 0.1)
    run(store, "weekly_full", "fails", ann=True).finish()
    assert store.labels != store.expected()
    daily = run(store, "daily_incremental", "next", n_steps=2)
    assert daily.scoped == {"ann": "incomplete"}
    daily.finish()
    assert store.labels == store.expected()
    assert run(store, "daily_incremental", "one more", n_steps=2).scoped == {}


def test_a_member_left_out_as_conflicting_is_planned_again(store: Store) -> None:
    """Two clocks that differ: the run with the newer profile says that it decided earlier."""
    store.labeler = Labeler("t", 0.1)
    run(store, "weekly_full", "ahead").finish()
    put(store, ann="welder")
    store.minutes -= 10
    store.labeler = Labeler("s", 0.5)
    behind = run(store, "daily_incremental", "behind")
    behind.finish()
    assert store.coverage[behind.run_id]["ann"]["incomplete_reason"] == "conflicting"
    store.minutes += 20
    assert run(store, "daily_incremental", "next", n_steps=2).scoped == {"ann": "incomplete"}


def test_a_daily_run_looks_only_at_what_has_changed(store: Store) -> None:
    put(store, ann="nurse", bob="welder", cat=None)
    run(store, "daily_incremental", "1").finish()
    store.catalog.append({"q": CatalogEntry("baking", "active")})
    store.profiles.append(store.profiles[-1] | {"dan": Profile("singer", 1)})
    del store.profiles[-1]["bob"]
    daily = run(store, "daily_incremental", "2", n_steps=2)
    assert daily.scoped == {"bob": "member_removed", "cat": "incomplete", "dan": "first_time"}
    backfill = run(store, "catalog_backfill", "3", n_steps=2)
    assert backfill.scoped == daily.scoped | {"ann": "catalog_changed"}


def broken_run(store: Store, trigger_id: str, kind: str = "weekly_full") -> str:
    """Recompute every label with an engine that is broken meanwhile; returns the run's id."""
    store.engine = "broken"
    worker = Run(store, kind, trigger_id, recompute=True)
    worker.finish()
    store.engine = "good"
    assert store.labels != store.expected()
    return worker.run_id


def roll_back(store: Store, run_id: str, *, is_forced: bool = False) -> Rollback:
    worker = Rollback(store, run_id, f"of-{run_id}-{store.minutes}", is_forced=is_forced)
    worker.finish()
    return worker


def test_no_schedule_brings_back_what_was_rolled_back_although_later_runs_touched_other_members(store: Store) -> None:
    put(store, ann="nurse", bob="welder")
    run(store, "daily_incremental", "bob").finish()
    good, bad = dict(store.labels), broken_run(store, "bad")
    put(store, ann="nurse", bob="singer")
    run(store, "daily_incremental", "newer").finish()
    newer = {key: label for key, label in store.labels.items() if key[0] == "bob"}

    rolled_back = roll_back(store, bad)
    wanted = newer | {key: label for key, label in good.items() if key[0] == "ann"}
    assert store.labels == wanted
    assert store.coverage[rolled_back.run_id]["bob"]["incomplete_reason"] == "superseded"
    for kind in ("daily_incremental", "catalog_backfill", "weekly_full"):
        held_back = run(store, kind, "scheduled")
        held_back.finish()
        assert "ann" not in held_back.scoped and store.labels == wanted

    store.holds.clear()
    store.revoke(run_id=bad)
    assert run(store, "daily_incremental", "repair", n_steps=2).scoped["ann"] == "revoked"


def test_a_run_that_only_confirmed_a_bad_one_is_taken_back_with_it(store: Store) -> None:
    good, bad = dict(store.labels), broken_run(store, "bad")
    run(store, "weekly_full", "confirms").finish()
    roll_back(store, bad)
    assert store.labels == good


def test_a_rollback_by_force_takes_back_what_newer_runs_have_published(store: Store) -> None:
    good, bad = dict(store.labels), broken_run(store, "bad")
    put(store, ann="singer")
    run(store, "daily_incremental", "newer").finish()
    newer = dict(store.labels)
    assert newer != good
    roll_back(store, bad)
    assert store.labels == newer
    roll_back(store, bad, is_forced=True)
    assert store.labels == good


def test_a_member_who_was_first_labelled_by_the_run_is_planned_again_once_released(store: Store) -> None:
    put(store, ann="nurse", bob="welder")
    bad = broken_run(store, "bad", kind="daily_incremental")
    rolled_back = roll_back(store, bad)
    assert not any(member == "bob" for member, _ in store.labels)
    assert "bob" not in run(store, "daily_incremental", "held back", n_steps=2).scoped
    del store.holds[rolled_back.run_id]
    assert run(store, "daily_incremental", "next", n_steps=2).scoped == {"bob": "rolled_back"}


def test_a_member_who_is_gone_is_removed_although_the_labels_are_on_hold(store: Store) -> None:
    put(store, ann="nurse", bob="welder")
    run(store, "daily_incremental", "bob").finish()
    roll_back(store, broken_run(store, "bad"))
    put(store, bob="welder")
    run(store, "daily_incremental", "next").finish()
    assert {member for member, _ in store.labels} == {"bob"}


@pytest.mark.parametrize(("input", "value"), [("artifact", "s@0.5"), ("catalog", "c")])
def test_a_run_that_pinned_what_is_on_hold_looks_at_nobody_but_the_gone(input: Any, value: str) -> None:
    one = [hold.Hold(hold_id="h", input=input, value=value)]
    assert hold.is_run_on_hold("s@0.5", "c", one) and not hold.is_run_on_hold("s@0.3", "d", one)
    pins = dict.fromkeys((field.name for field in fields(MemberPins)), "x") | {"artifact_id": "s@0.5"}
    now = MemberPins(**pins | {"catalog_version": "c"})  # type: ignore[arg-type]
    assert hold.is_on_hold(now, None, one) and not hold.is_on_hold(None, now, one)
