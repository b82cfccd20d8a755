"""Watch a Delta table's version from the triggerer, and fire when it moves.

The event is a hint and no more: a run compares the tables itself, so a lost or a doubled event costs at most a wait or
an empty run. Commits that change no row, such as those of a vacuum, are no event. What was seen last is kept with the
asset, so a triggerer that starts again misses nothing that changed meanwhile. The first look only remembers: a
deployment that starts does not start a run.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

SEEN = "delta_version"
_CHANGE_NO_ROW = {"OPTIMIZE", "VACUUM START", "VACUUM END", "ADD COLUMN", "ADD COLUMNS", "SET TBLPROPERTIES"}


class TableVersionTrigger(BaseEventTrigger):
    """Fire with {table, delta_version} at each new version of an input table in which rows may have changed.

    Args:
        table: `profiles` or `catalog`, under the deployment's table root.
    """

    def __init__(self, *, table: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.table = table

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class's path and its arguments."""
        return "semlabel_dags.table_trigger.TableVersionTrigger", {"table": self.table}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look every `watch_<table>_s` seconds; of several versions between two looks only the last is told."""
        from jobs.settings import Settings

        settings = Settings()
        every_s = getattr(settings, f"watch_{self.table}_s")
        seen = await self.asset_state_store.aget(SEEN) if self.asset_state_store else None
        while True:
            version, is_changed = await asyncio.to_thread(_look, settings.tables / self.table, seen)
            if version not in (None, seen):
                if is_changed:
                    yield TriggerEvent({"table": self.table, "delta_version": version})
                if self.asset_state_store:  # after the event: killed in between, it is told twice, never lost
                    await self.asset_state_store.aset(SEEN, version)
                seen = version
            await asyncio.sleep(every_s)


def _look(folder: Any, seen: int | None) -> tuple[int | None, bool]:
    """Return the version that stands, and whether rows may have changed since the one that was seen."""
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(str(folder)):
        return None, False
    table = DeltaTable(str(folder))
    version = table.version()
    if seen is None or version == seen:
        return version, False
    since = [commit.get("operation") for commit in table.history(version - seen)] if version > seen else []
    # a table that was made anew, or commits whose log is gone: who knows
    return version, len(since) != version - seen or not _CHANGE_NO_ROW.issuperset(since)
