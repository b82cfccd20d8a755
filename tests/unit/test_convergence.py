"""Whatever happens to triggers, runs and inputs: after a quiet run the labels are those of labelling all from scratch.

1,000 histories over tables in memory; the rules that decide are those of the jobs (`jobs.rules`).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from jobs.rules import catalog, scope, standing
from jobs.rules.standing import MemberPins, Published
from tests.refresh_histories import ITEMS, History
from tests.refresh_model import CatalogEntry, Labeler, Profile, Run, Store

PROFILES, CATALOG, LABELER = ("profile",), ("profile", "catalog"), ("profile", "profile", "catalog", "labeler")


def diverging(seeds: Iterable[int], changes: tuple[str, ...], *quiet: str) -> list[int]:
    """Return the seeds whose history does not end with the expected labels.

    A backfill leaves the slots of retired candidates empty, so after it each member's labels are those of the catalog
    that it was retrieved from, since which entries were only retired; a weekly run closes the slots.
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


def nobody_is_gone(before: Published) -> tuple[()]:
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
    """Start a worker and let it do its first steps: pin, scope, score, publish (compute), commit, close."""
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
    older = run(store, "daily_incremental", "older", n_steps=4)
    put(store, ann="coder", bob="coder")
    newer = run(store, "daily_incremental", "newer", n_steps=4)
    newer.finish()
    older.finish()
    assert store.labels == store.expected()
    assert older.run_id not in store.commits


def test_a_run_published_twice_is_one_commit(store: Store) -> None:
    put(store, ann="welder")
    workers = [run(store, "daily_incremental", "doubled", n_steps=4) for _ in range(2)]
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
        older = run(store, "daily_incremental", f"older-{store.minutes}", n_steps=4)
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
