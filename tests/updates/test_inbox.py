"""The inbox: on disk before it is acknowledged, the newest edit of a member wins, a batch outlives its worker."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.updates.inbox import Inbox, InboxFullError, inbox_file, open_inbox
from jobs.updates.update import MAX_TEXT_CHARACTERS, ProfileUpdate, faults_of
from tests.world import settings_under


def edit(member_id: str, version: int, text: str | None = "a profile") -> ProfileUpdate:
    return ProfileUpdate(member_id=member_id, profile_version=version, profile_text=text)


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    found = open_inbox(settings_under(tmp_path))
    yield found
    found.close()


def test_of_one_members_edits_the_highest_version_wins_in_whatever_order_they_come(inbox: Inbox) -> None:
    assert inbox.put(
        [edit("ann", 2), edit("bob", 1), edit("ann", 5, "the newest"), edit("ann", 3), edit("ann", 5)]
    ) == [
        "accepted",
        "accepted",
        "accepted",
        "superseded",
        "repeated",
    ]
    batch = inbox.take(10)
    assert batch is not None
    assert batch.updates == (edit("ann", 5, "the newest"), edit("bob", 1))


def test_who_edits_again_and_again_keeps_the_place_and_the_time_of_the_first_edit(inbox: Inbox) -> None:
    inbox.put([edit("ann", 1), edit("bob", 1)])
    oldest_s = inbox.figures().oldest_s
    inbox.put([edit("ann", 2), edit("cat", 1)])
    inbox.put([edit("ann", 3, "the newest")])
    batch = inbox.take(1)
    assert batch is not None and batch.updates == (edit("ann", 3, "the newest"),)
    assert batch.received_s == (oldest_s,)


def test_no_more_wait_than_may_whoever_puts_them_and_all_or_none_of_a_request_is_taken_in(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'inbox.db'}"
    fill_at_once([Inbox(url, waiting_limit=10) for _ in range(4)])


def fill_at_once(inboxes: list[Inbox]) -> None:
    """Fill inboxes with a limit of 10 from a thread each, and look at what is refused."""
    is_full = list[bool]()

    def write(number: int) -> None:
        for each in range(10):
            try:
                inboxes[number].put([edit(f"member-{number}-{each}", 1)])
            except InboxFullError:
                is_full.append(True)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    inbox = inboxes[0]
    assert (inbox.figures().waiting, len(is_full)) == (10, 30)
    batch = inbox.take(1)
    assert batch is not None
    known = batch.updates[0].member_id
    with pytest.raises(InboxFullError, match="9 updates wait, 10 may"):
        inbox.put([edit("dan", 1), edit("eve", 1)])
    assert inbox.put([edit("dan", 1)]) == ["accepted"], "nothing of the refused ones is known"
    assert inbox.put([edit("dan", 2)]) == ["accepted"], "one more edit of who waits already"
    inbox.put_back(batch.batch_id, [known], for_s=0)
    assert inbox.figures().waiting == 11, "what was taken in is never dropped"
    assert inbox.forget("dan") == 1 and inbox.figures().waiting == 10


def test_what_waits_is_counted_anew_when_a_worker_starts(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'inbox.db'}"
    inbox = Inbox(url)
    inbox.put([edit("ann", 1), edit("bob", 1)])
    with sqlite3.connect(tmp_path / "inbox.db") as earlier:  # a version that knew no counter
        earlier.execute("DROP TABLE semlabel_update_counts")
    again = Inbox(url)
    assert again.figures().waiting == 2
    with sqlite3.connect(tmp_path / "inbox.db") as other:
        other.execute("DELETE FROM semlabel_updates WHERE member_id = 'ann'")
    with again.alone():
        assert again.figures().waiting == 1


def test_a_look_at_the_inbox_waits_for_no_writer(tmp_path: Path) -> None:
    inbox = Inbox(f"sqlite:///{tmp_path / 'inbox.db'}")
    inbox.put([edit("ann", 1)])
    with sqlite3.connect(tmp_path / "inbox.db", isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert inbox.figures().waiting == 1 and inbox.knows("ann")
        writer.execute("ROLLBACK")


def test_no_statement_of_an_update_or_a_look_goes_through_all_that_waits(tmp_path: Path) -> None:
    inbox = Inbox(f"sqlite:///{tmp_path / 'inbox.db'}")
    inbox.put([edit(f"member-{number}", 1) for number in range(300)])
    plans = list[str]()

    @sa.event.listens_for(inbox._engine, "before_cursor_execute")
    def explain(_: object, cursor: sqlite3.Cursor, statement: str, parameters: Any, *__: object) -> None:
        if not statement.startswith(("BEGIN", "EXPLAIN")):
            with sqlite3.connect(tmp_path / "inbox.db") as other:
                plans.extend(row[3] for row in other.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    inbox.put([edit("ann", 1)])
    inbox.figures()
    assert plans and not [plan for plan in plans if plan.startswith("SCAN")]


def test_an_older_edit_is_refused_also_after_the_newer_one_has_left(inbox: Inbox) -> None:
    inbox.put([edit("ann", 5, None)])
    batch = inbox.take(10)
    assert batch is not None
    inbox.finish(batch.batch_id)
    assert inbox.put([edit("ann", 4), edit("ann", 5), edit("ann", 6)]) == ["superseded", "repeated", "accepted"]


def test_a_batch_that_was_taken_is_taken_again_until_it_is_finished_and_later_edits_wait(inbox: Inbox) -> None:
    inbox.put([edit("ann", 1), edit("bob", 1), edit("cat", 1)])
    taken = inbox.take(2)
    inbox.put([edit("ann", 2)])
    assert taken is not None and inbox.take(2) == taken, "the worker died"
    assert (inbox.figures().waiting, inbox.figures().taken) == (2, 2)
    inbox.finish(taken.batch_id)
    then = inbox.take(2)
    assert then is not None and then.updates == (edit("cat", 1), edit("ann", 2)) and then.batch_id != taken.batch_id
    inbox.finish(then.batch_id)
    assert inbox.take(2) is None and inbox.figures().oldest_s is None


def test_what_is_put_back_waits_its_time_unless_a_newer_edit_came_meanwhile(inbox: Inbox) -> None:
    inbox.put([edit("ann", 1), edit("bob", 1), edit("cat", 1)])
    batch = inbox.take(3)
    assert batch is not None
    inbox.put([edit("ann", 2)])
    inbox.put_back(batch.batch_id, ["ann"], for_s=0)
    inbox.put_back(batch.batch_id, ["bob"], for_s=1000)
    inbox.finish(batch.batch_id)
    then = inbox.take(3)
    assert then is not None and then.updates == (edit("ann", 2),), "one of ann's, and bob's is not due"
    assert inbox.figures().waiting == 1


PUT_AND_DIE = """
import os, signal, sys
from jobs.updates.inbox import Inbox
from jobs.updates.update import ProfileUpdate
Inbox(sys.argv[1]).put([ProfileUpdate(member_id="ann", profile_version=7, profile_text="acknowledged")])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_acknowledged_is_there_after_the_process_was_killed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'inbox.db'}"
    done = subprocess.run([sys.executable, "-c", PUT_AND_DIE, url], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    batch = Inbox(url).take(1)
    assert batch is not None and batch.updates == (edit("ann", 7, "acknowledged"),)


def test_a_forgotten_member_is_in_no_file_of_the_inbox(tmp_path: Path) -> None:
    where = settings_under(tmp_path)
    inbox = open_inbox(where)
    inbox.put([edit("member-ann", 1, "Zanzibarian nursing"), edit("member-bob", 1, "welding")])
    assert b"Zanzibarian" in b"".join(file.read_bytes() for file in inbox_file(where).parent.iterdir())
    assert inbox.forget("member-ann") == 1
    left = b"".join(file.read_bytes() for file in inbox_file(where).parent.iterdir())
    assert b"Zanzibarian" not in left and b"member-ann" not in left and b"welding" in left
    assert inbox.put([edit("member-ann", 1)]) == ["accepted"], "nothing of the member is known any more"


def test_writers_at_once_lose_nothing_and_none_of_them_lowers_a_version(tmp_path: Path) -> None:
    write_at_once([Inbox(f"sqlite:///{tmp_path / 'inbox.db'}") for _ in range(4)])


def write_at_once(inboxes: list[Inbox]) -> None:
    """Write from a thread each, and look at what the inbox has then."""

    def write(number: int) -> None:
        for version in range(number, 40, 4):
            inboxes[number].put([edit("ann", version), edit(f"member-{version}", 1)])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batch = inboxes[0].take(100)
    assert batch is not None and len(batch.updates) == 41
    assert {u.member_id: u.profile_version for u in batch.updates}["ann"] == 39


steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), st.integers(0, 6)),
        st.tuples(st.just("take"), st.integers(1, 3), st.booleans()),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_whatever_the_order_each_member_ends_with_its_highest_version_once(story: list[tuple]) -> None:
    inbox, applied, sent = Inbox("sqlite://"), dict[str, list[int]](), dict[str, int]()

    def work(limit: int, is_finished: bool) -> None:
        batch = inbox.take(limit)
        if batch is not None and is_finished:
            for update in batch.updates:
                applied.setdefault(update.member_id, []).append(update.profile_version)
            inbox.finish(batch.batch_id)

    for what, *arguments in story:
        if what == "put":
            member, version = arguments
            outcome = inbox.put([edit(member, version)])[0]
            assert (outcome == "accepted") == (version > sent.get(member, -1))
            sent[member] = max(version, sent.get(member, -1))
        else:
            work(*arguments)
    while inbox.take(10):
        work(10, True)
    assert {member: versions[-1] for member, versions in applied.items()} == sent
    assert all(versions == sorted(set(versions)) for versions in applied.values()), (
        "never an older one later, none twice"
    )
    inbox.close()


def test_all_faults_of_all_updates_are_listed_and_no_text_is_shown() -> None:
    wrong = [
        edit(" ", -1),
        edit("ann", 1, "x" * (MAX_TEXT_CHARACTERS + 1)),
        edit("a\x00b", 2**63, "secret\x00"),
        edit("bob", 0, None),
    ]
    faults = faults_of(wrong)
    assert [fault.split(":")[0] for fault in faults] == ["update 0"] * 2 + ["update 1"] + ["update 2"] * 3
    assert "secret" not in " ".join(faults) and not faults_of(wrong[-1:])
