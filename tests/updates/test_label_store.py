"""One contract for every key-value store: LMDB in a folder, and a real Redis."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from redis import Redis

from jobs.kv.lmdb_store import LmdbStore
from jobs.kv.store import LabelStore, PositionMovedError, StoreAwayError, open_store
from jobs.kv.value import CLOCKS_DIFFER_BY, MemberLabels, Position
from tests.updates.redis_server import RedisServer
from tests.world import settings_under

START = datetime(2026, 11, 30, tzinfo=UTC)


def labels(member_id: str, publication: int = 1, **scores: float) -> MemberLabels:
    return MemberLabels(
        member_id=member_id,
        scores=scores,
        run_id=f"run-{publication}",
        profile_version=publication,
        labels_version=publication,
        published_at=START.isoformat(),
        order=(publication, 0, 0, 0.0, f"run-{publication}"),
    )


def at(number: int) -> Position:
    return Position(labels_version=number, published_at=START.isoformat(), applied={f"run-{number}": START.isoformat()})


Reopen = Callable[[], LabelStore]


@pytest.fixture(params=["lmdb", "redis"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the store of a test as another process would; LMDB is closed before."""
    url, opened = "", list[LabelStore]()
    if request.param == "redis":
        url = request.getfixturevalue("redis").url
        Redis.from_url(url).flushall()

    def open_again() -> LabelStore:
        if request.param == "lmdb" and opened:
            opened[-1].close()
        opened.append(open_store(settings_under(tmp_path, kv_url=url)))
        return opened[-1]

    yield open_again
    opened[-1].close()


@pytest.fixture
def store(reopen: Reopen) -> LabelStore:
    return reopen()


def put(store: LabelStore, *values: MemberLabels, position: Position | None = None) -> None:
    by_member = {value.member_id: value for value in values}
    store.update(list(by_member), lambda member_id, _: by_member[member_id], position or at(1))


def test_a_new_store_knows_nobody_and_no_position(store: LabelStore) -> None:
    assert store.get("ann") is None and store.position() is None and list(store.values()) == []


def test_values_and_their_position_are_there_for_whoever_opens_the_store_next(
    store: LabelStore, reopen: Reopen
) -> None:
    long_id = "m" * 500 + "\u00e9\U0001f9d1"
    ann, long = labels("ann", q1=0.75, q2=1 / 3), labels(long_id)
    put(store, ann, long, position=at(3))
    again = reopen()
    assert (again.get("ann"), again.get(long_id), again.position()) == (ann, long, at(3))
    assert sorted(value.member_id for value in again.values()) == sorted(["ann", long_id])


def test_a_change_that_fails_leaves_neither_values_nor_position(store: LabelStore) -> None:
    put(store, labels("ann", 1), labels("bob", 1))

    def fail_at_bob(member_id: str, _: MemberLabels | None) -> MemberLabels:
        if member_id == "bob":
            raise ZeroDivisionError
        return labels(member_id, 2)

    with pytest.raises(ZeroDivisionError):
        store.update(["ann", "bob"], fail_at_bob, at(2))
    assert store.get("ann") == labels("ann", 1) and store.position() == at(1)


def test_a_change_sees_the_value_that_stands_and_may_leave_it(store: LabelStore) -> None:
    put(store, labels("ann", 5))
    seen = []
    store.update(["ann", "bob"], lambda member_id, value: seen.append((member_id, value)), at(6))
    assert seen == [("ann", labels("ann", 5)), ("bob", None)]
    assert store.get("ann") == labels("ann", 5) and store.get("bob") is None and store.position() == at(6)


def test_a_position_that_another_one_moved_is_not_set_and_no_value_either(store: LabelStore) -> None:
    put(store, labels("ann", 1), position=at(1))
    with pytest.raises(PositionMovedError):
        store.update(["ann"], lambda *_: labels("ann", 3), at(3), expected=at(2))
    assert store.get("ann") == labels("ann", 1) and store.position() == at(1)
    store.update(["ann"], lambda *_: labels("ann", 2), at(2), expected=at(1))
    assert store.get("ann") == labels("ann", 2) and store.position() == at(2)


def test_two_writers_at_once_do_not_lose_each_others_changes(store: LabelStore) -> None:
    put(store, labels("ann", 0))

    def count(_: str, value: MemberLabels | None) -> MemberLabels:
        assert value is not None
        return replace(value, labels_version=value.labels_version + 1)

    def write() -> None:
        for _ in range(25):
            store.update(["ann"], count, at(1))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = store.get("ann")
    assert found is not None and found.labels_version == 100


def test_all_is_replaced_at_once_and_what_is_not_in_the_new_set_is_gone(store: LabelStore) -> None:
    put(store, labels("ann", 1), labels("bob", 1))
    assert store.replace_all(iter([labels("bob", 2), labels("cat", 2)]), at(2)) == 2
    assert {value.member_id: value.labels_version for value in store.values()} == {"bob": 2, "cat": 2}
    assert store.position() == at(2)
    assert store.replace_all([], at(3)) == 0 and list(store.values()) == []


def test_who_was_forgotten_is_neither_fed_nor_rebuilt_again(store: LabelStore, reopen: Reopen) -> None:
    put(store, labels("ann"), labels("bob"))
    assert store.forget("ann") and not store.forget("ann")
    put(store, labels("ann", 2), labels("bob", 2))
    assert store.get("ann") is None and store.get("bob") == labels("bob", 2)
    again = reopen()
    assert again.replace_all([labels("ann", 3), labels("bob", 3)], at(3)) == 1
    assert [value.member_id for value in again.values()] == ["bob"]


def test_a_redis_that_is_full_is_away_to_whoever_writes(redis: RedisServer, tmp_path: Path) -> None:
    direct = Redis.from_url(redis.url)
    direct.flushall()
    store = open_store(settings_under(tmp_path, kv_url=redis.url))
    put(store, labels("ann"))
    direct.config_set("maxmemory", 1)
    calls: list[Callable[[], object]] = [
        lambda: put(store, labels("bob", 2), position=at(2)),
        lambda: store.replace_all([labels("bob", 2)], at(2)),
        lambda: store.forget("bob"),
    ]
    try:
        for call in calls:
            with pytest.raises(StoreAwayError, match="used memory") as raised:
                call()
            assert "bob" not in str(raised.value)
        assert store.get("ann") == labels("ann") and store.position() == at(1)
    finally:
        direct.config_set("maxmemory", 0)
    put(store, labels("ann", 2))
    assert store.get("ann") == labels("ann", 2)
    store.close()


def test_an_lmdb_that_is_full_is_away_to_whoever_writes(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path / "kv", map_bytes=2**16)
    put(store, labels("ann"))
    small = [labels(f"bob-{number}" * 1000, 2) for number in range(100)]
    with pytest.raises(StoreAwayError, match="MDB_MAP_FULL"):
        store.update([one.member_id for one in small], lambda member_id, _: labels(member_id * 10, 2), at(2))
    with pytest.raises(StoreAwayError, match="MDB_MAP_FULL"):
        store.replace_all(small, at(2))
    assert store.get("ann") == labels("ann") and store.position() == at(1)
    assert [value.member_id for value in store.values()] == ["ann"]
    put(store, labels("ann", 2))
    assert store.get("ann") == labels("ann", 2)
    store.close()


def test_a_redis_that_is_away_is_said_without_its_password_and_found_again(redis: RedisServer, tmp_path: Path) -> None:
    Redis.from_url(redis.url).flushall()
    store = open_store(settings_under(tmp_path, kv_url=redis.url))
    store.replace_all([labels("ann")], at(1))
    redis.kill()
    for call in (lambda: store.get("ann"), store.position, lambda: list(store.values()), lambda: put(store)):
        with pytest.raises(StoreAwayError, match="Redis does not answer"):
            call()
    away = open_store(settings_under(tmp_path, kv_url="redis://user:secret@127.0.0.1:1/0"))
    with pytest.raises(StoreAwayError) as raised:
        away.position()
    assert "secret" not in str(raised.value) and "127.0.0.1:1" in str(raised.value)
    redis.start()
    assert store.get("ann") == labels("ann")


def test_a_position_has_what_was_applied_and_forgets_what_is_long_ago() -> None:
    minutes = [START + timedelta(minutes=number) for number in range(60)]
    position = Position()
    for number, moment in enumerate(minutes):
        assert not position.has(f"run-{number}", moment)
        position = position.after(f"run-{number}", moment, number)
    assert all(position.has(f"run-{number}", moment) for number, moment in enumerate(minutes))
    assert not position.has("late", minutes[55]), "a publication that another clock calls earlier"
    assert len(position.applied) == CLOCKS_DIFFER_BY // timedelta(minutes=1) + 1
    assert Position.from_json(position.to_json()) == position and position.labels_version == 59
