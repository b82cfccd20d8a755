"""The watch on an input table: each new version is told, none is lost by a triggerer that starts again."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from semlabel_dags.table_trigger import SEEN, TableVersionTrigger


class Store:
    """As Airflow's state store of one asset, which outlives a triggerer."""

    def __init__(self, *, is_killed: bool = False) -> None:
        self.kept: dict[str, Any] = {}
        self.is_killed = is_killed

    async def aget(self, key: str) -> Any:
        return self.kept.get(key)

    async def aset(self, key: str, value: Any) -> None:
        if self.is_killed:
            raise asyncio.CancelledError
        self.kept[key] = value


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEMLABEL_HOME", str(tmp_path))
    monkeypatch.setenv("SEMLABEL_WATCH_CATALOG_S", "0.01")
    return tmp_path / "tables" / "catalog"


def commit(catalog: Path) -> None:
    write_deltalake(str(catalog), pa.table({"id": ["a"]}), mode="append")


def watch(store: Store) -> AsyncIterator[Any]:
    trigger = TableVersionTrigger(table="catalog")
    trigger.asset_state_store = store  # type: ignore[assignment]
    return trigger.run()


async def next_version(events: AsyncIterator[Any]) -> int:
    event = await asyncio.wait_for(anext(events), timeout=30)
    assert event.payload["table"] == "catalog"
    return int(event.payload["delta_version"])


async def until_seen(store: Store, events: AsyncIterator[Any]) -> "asyncio.Task[int]":
    """Start watching and return once the first look is remembered."""
    told = asyncio.ensure_future(next_version(events))
    while SEEN not in store.kept:
        await asyncio.sleep(0)
    return told


def test_a_new_version_is_told_and_the_one_that_was_there_first_is_not(catalog: Path) -> None:
    async def run() -> int:
        commit(catalog)
        store = Store()
        told = await until_seen(store, watch(store))
        commit(catalog)
        return await told

    assert asyncio.run(run()) == 1


def test_a_table_that_is_not_there_yet_is_waited_for(catalog: Path) -> None:
    async def run() -> int:
        store = Store()
        told = asyncio.ensure_future(next_version(watch(store)))
        await asyncio.sleep(0)
        commit(catalog)
        while SEEN not in store.kept:
            await asyncio.sleep(0)
        commit(catalog)
        return await told

    assert asyncio.run(run()) == 1


def test_what_changed_while_no_triggerer_ran_is_told_by_the_next(catalog: Path) -> None:
    async def run() -> int:
        store = Store()
        store.kept[SEEN] = 0
        for _ in range(3):
            commit(catalog)
        return await next_version(watch(store))

    assert asyncio.run(run()) == 2, "one event for both versions: it is a hint"


def test_a_triggerer_that_dies_after_the_event_tells_it_again(catalog: Path) -> None:
    async def run() -> tuple[int, int]:
        store = Store(is_killed=True)
        store.kept[SEEN] = 0
        for _ in range(2):
            commit(catalog)
        events = watch(store)
        first = await next_version(events)
        with pytest.raises(asyncio.CancelledError):
            await anext(events)
        return first, await next_version(watch(store))

    assert asyncio.run(run()) == (1, 1)


def test_maintenance_of_a_table_is_not_told_and_a_change_behind_it_is(catalog: Path) -> None:
    async def run() -> int:
        for _ in range(3):
            commit(catalog)
        store = Store()
        store.kept[SEEN] = 2
        table = DeltaTable(str(catalog))
        table.optimize.compact()
        assert table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
        told = asyncio.ensure_future(next_version(watch(store)))
        while store.kept[SEEN] == 2 and not told.done():
            await asyncio.sleep(0)
        assert not told.done() and store.kept[SEEN] == table.version() == 5
        commit(catalog)
        return await told

    assert asyncio.run(run()) == 6


def test_a_table_that_was_made_anew_is_told(catalog: Path) -> None:
    async def run() -> int:
        store = Store()
        store.kept[SEEN] = 7
        commit(catalog)
        return await next_version(watch(store))

    assert asyncio.run(run()) == 0


def test_airflow_can_make_the_trigger_again() -> None:
    path, arguments = TableVersionTrigger(table="catalog").serialize()
    assert path == f"{TableVersionTrigger.__module__}.TableVersionTrigger" and arguments == {"table": "catalog"}
