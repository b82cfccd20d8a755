"""Watch a Delta table's version from the triggerer, and fire when it moves.

The event is a hint and no more: a run compares the tables itself, so a lost or a doubled event costs at most a wait or
an empty run. What was seen last is kept with the asset, so a triggerer that starts again misses nothing that changed
meanwhile. The first look only remembers: a deployment that starts does not start a run.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

SEEN = "delta_version"


class TableVersionTrigger(BaseEventTrigger):
    """Fire with {table, delta_version} at each new version of an input table.

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
            version = await asyncio.to_thread(_version, settings.tables / self.table)
            if version not in (None, seen):
                if seen is not None:
                    yield TriggerEvent({"table": self.table, "delta_version": version})
                if self.asset_state_store:  # after the event: killed in between, it is told twice, never lost
                    await self.asset_state_store.aset(SEEN, version)
                seen = version
            await asyncio.sleep(every_s)


def _version(folder: Any) -> int | None:
    from deltalake import DeltaTable

    return DeltaTable(str(folder)).version() if DeltaTable.is_deltatable(str(folder)) else None
