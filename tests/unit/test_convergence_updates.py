"""Profile updates beside refreshes, drawn: the older of two states never wins, and what the stream has said is done.

The rules that decide are those of the jobs (`jobs.rules`); the inbox and the merge are as `jobs.updates` makes them.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

import tests.updates_model as updates_model
from jobs.rules import scope, standing
from jobs.rules.standing import MemberPins
from tests.refresh_histories import KINDS, History
from tests.refresh_model import Store
from tests.unit.test_convergence import broken_run, put, roll_back, run, store
from tests.updates_model import Edit, ModelInbox, UpdateBatch

__all__ = ["store"]  # the fixture: ann is labelled as a nurse

UPDATES = range(2000, 2200)


def diverging(seeds: Iterable[int], *quiet: str) -> list[int]:
    """Return the seeds whose history, with profiles changed by upstream, stream and people, does not end well."""
    found = []
    for seed in seeds:
        history = History(seed, undoes=seed % 3 == 0, streams=True)
        history.play(80)
        history.drain()
        history.end(*quiet)
        if history.store.labels != history.store.expected() or history.overwritten:
            found.append(seed)
    return found


def test_updates_beside_runs_of_all_kinds_leave_nothing_stale_after_a_quiet_daily_run() -> None:
    assert diverging(UPDATES, "daily_incremental") == []


SEEDS = range(2300, 2480)


@pytest.mark.parametrize("kinds", [(), KINDS], ids=["updates alone", "beside refreshes"])
def test_what_the_stream_has_said_last_is_labelled_without_a_quiet_run(kinds: tuple[str, ...]) -> None:
    """Workers that were left behind end after the inbox is empty, and take nothing back."""
    assert [seed for seed in SEEDS if not ends_with_what_was_sent(seed, kinds)] == []


def ends_with_what_was_sent(seed: int, kinds: tuple[str, ...]) -> bool:
    history = History(seed, kinds=kinds, changes=(), streams=True)
    history.play(80)
    history.drain()
    for worker in history.draw.sample(history.workers, len(history.workers)):
        worker.finish()
    store, sent = history.store, history.inbox.newest
    profiles = {member: Edit(profile.version, profile.text) for member, profile in store.profiles[-1].items()}
    written = all(profiles.get(member) == (edit if edit.text else None) for member, edit in sent.items())
    found, expected = (
        {key: label for key, label in labels.items() if key[0] in sent} for labels in (store.labels, store.expected())
    )
    return written and found == expected


def put_last(inbox: ModelInbox, member: str, version: int, text: str | None) -> None:
    """Let the edit win that comes last."""
    inbox.newest[member] = inbox.waiting[member] = Edit(version, text)


def own_versions(mine: MemberPins, theirs: MemberPins | None) -> tuple[int, int]:
    return mine.profiles_delta_version, mine.catalog_delta_version


@pytest.mark.parametrize(
    ("module", "rule", "broken", "kinds"),
    [
        (updates_model.ModelInbox, "put", put_last, ()),
        (updates_model, "merge", lambda profiles, edits: dict(profiles), ()),
        (standing, "standing", lambda mine, theirs: None, KINDS),
        (standing, "versions_covered", own_versions, KINDS),
    ],
    ids=["inbox", "merge", "standing", "versions"],
)
def test_a_broken_rule_of_updates_is_found_by_the_same_histories(
    module: Any, rule: str, broken: Callable[..., Any], kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, rule, broken)
    assert any(not ends_with_what_was_sent(seed, kinds) for seed in SEEDS)


COMMITS_CHANGES_ONLY = (standing, "needs_commit", lambda kind, n_changes, n_others_open: n_changes > 0)
LIKE_A_DAILY_RUN = (scope, "LOOKS_AFTER", {**scope.LOOKS_AFTER, "profile_updates": scope._OF_A_PROFILE})


@pytest.mark.parametrize("broken", [None, COMMITS_CHANGES_ONLY, LIKE_A_DAILY_RUN], ids=["", "commit", "scope"])
@pytest.mark.parametrize("n_steps", [2, 3], ids=["scoped", "computed"])
def test_an_edit_that_is_taken_back_is_not_overtaken_by_a_run_that_knows_it(
    store: Store, n_steps: int, broken: tuple[Any, str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nurse, then welder, which a daily run pins, then nurse again by the stream, which changes no label."""
    put(store, ann="welder")
    late = run(store, "daily_incremental", "late", n_steps=n_steps)
    if broken is not None:
        monkeypatch.setattr(*broken)
    stream(store, ann="nurse")
    late.finish()
    is_found = broken is LIKE_A_DAILY_RUN or (broken is COMMITS_CHANGES_ONLY and n_steps == 3)
    assert (store.labels == store.expected()) != is_found


def test_who_is_removed_before_any_label_is_not_labelled_by_a_run_that_pinned_before(store: Store) -> None:
    put(store, ann="nurse", bob="welder")
    late = run(store, "daily_incremental", "late", n_steps=3)
    stream(store, bob=None)
    late.finish()
    assert {member for member, _ in store.labels} == {"ann"}


def test_a_member_on_hold_is_not_republished_by_an_update_until_it_is_released(store: Store) -> None:
    good = dict(store.labels)
    rolled_back = roll_back(store, broken_run(store, "bad"))
    stream(store, ann="singer")
    assert store.labels == good and store.profiles[-1]["ann"].text == "singer"
    del store.holds[rolled_back.run_id]
    run(store, "daily_incremental", "next").finish()
    assert store.labels == store.expected() != good


def stream(store: Store, **texts: str | None) -> None:
    """Let one batch of edits run through."""
    inbox = ModelInbox()
    for member, text in texts.items():
        inbox.put(member, 100 + len(store.profiles), text)
    batch_id = inbox.take(limit=len(texts))
    assert batch_id is not None
    UpdateBatch(store, inbox, f"{batch_id}").finish()
