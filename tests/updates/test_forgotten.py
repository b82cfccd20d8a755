"""Erasing a member takes them out of the inbox and the key-value store too, and no update brings them back."""

from contextlib import closing
from pathlib import Path

import pytest

from jobs.erasure import forget_member as job
from jobs.erasure.forget_member import forget_member
from jobs.errors import MissingRequirementError
from jobs.kv.feeder import feed, rebuild
from jobs.kv.from_delta import check_store
from jobs.kv.store import StoreAwayError, open_store
from jobs.table_reader import query
from jobs.updates.inbox import open_inbox
from jobs.updates.profiles_table import write_profiles
from schemas.erasures import ERASURES
from schemas.profiles import PROFILES
from tests.published_history import History
from tests.text_search import files_with
from tests.updates.test_inbox import edit
from tests.world import settings_under

SECRET = "Zanzibarian nursing"


@pytest.fixture
def made(tmp_path: Path) -> History:
    """Ann and bob are labelled and in the store; an edit of each waits."""
    history = History(settings_under(tmp_path))
    history.stage_artifact()
    history.put_catalog({"q0": "nursing of patients", "q1": "baking of bread"})
    history.put_profiles({"ann": f"{SECRET}, baking", "bob": "nursing"})
    history.run()
    with closing(open_inbox(history.settings)) as inbox, closing(open_store(history.settings)) as store:
        inbox.put([edit("ann", 9, f"{SECRET} again"), edit("bob", 9, "baking")])
        feed(store, history.root)
        assert store.get("ann") is not None
    return history


def test_nothing_is_left_of_a_member_and_nobody_else_lost_anything(made: History) -> None:
    done = forget_member(made.settings, "ann")
    assert (done["updates_deleted"], done["is_in_store"]) == (1, True)
    assert files_with(made.settings.home, SECRET, besides=(made.root / "profiles",)) == []
    with closing(open_inbox(made.settings)) as inbox, closing(open_store(made.settings)) as store:
        batch = inbox.take(10)
        assert batch is not None and batch.updates == (edit("bob", 9, "baking"),)
        assert store.get("ann") is None and store.get("bob") is not None
        rebuild(store, made.root)
        assert store.get("ann") is None and check_store(store, made.root)["agrees"]


def test_an_update_that_comes_afterwards_is_not_written_but_a_removal_is(made: History) -> None:
    forget_member(made.settings, "ann")
    write_profiles(made.root, [edit("ann", 20, f"{SECRET} once more"), edit("bob", 20, "baking")])
    texts = {row["member_id"]: row["profile_text"] for row in query(made.root, "SELECT * FROM profiles", PROFILES)}
    assert texts == {"ann": f"{SECRET}, baking", "bob": "baking"}, "the source's own row is its own to remove"
    write_profiles(made.root, [edit("ann", 21, None)])
    assert [row["member_id"] for row in query(made.root, "SELECT member_id FROM profiles", PROFILES)] == ["bob"]


def test_who_is_known_by_an_update_alone_is_erased_and_who_is_not_known_at_all_is_not(made: History) -> None:
    with closing(open_inbox(made.settings)) as inbox:
        inbox.put([edit("new", 1, SECRET)])
    assert forget_member(made.settings, "new")["updates_deleted"] == 1
    with pytest.raises(MissingRequirementError, match="nothing to erase"):
        forget_member(made.settings, "nobody")


def test_with_the_store_away_the_erasure_is_not_finished_and_goes_on_later(
    made: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise StoreAwayError("away")

    with monkeypatch.context() as patch:
        patch.setattr(job, "forget_served", fail)
        with pytest.raises(StoreAwayError):
            forget_member(made.settings, "ann")
    events = "SELECT event FROM erasures"
    assert [row["event"] for row in query(made.root, events, ERASURES)] == ["started"]
    assert forget_member(made.settings, "ann")["is_in_store"]
    assert {row["event"] for row in query(made.root, events, ERASURES)} == {"started", "finished"}
