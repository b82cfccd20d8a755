"""The data that DAGs hand on. `profiles` and `catalog` are watched, `labels` and `labeler` are told by our tasks.

An event's extra names versions: of a watched table {from_trigger, payload: {table, delta_version}}, of `labels`
{run_id, labels_version, changes}, of `labeler` {version, artifact_id, previous_version}. Events are hints, see
`table_trigger`: whoever acts on one reads the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk import Asset, AssetAlias, AssetWatcher

from semlabel_dags.table_trigger import TableVersionTrigger


def _watched(table: str) -> Asset:
    return Asset(table, watchers=[AssetWatcher(name=f"{table}_version", trigger=TableVersionTrigger(table=table))])


PROFILES = _watched("profiles")
CATALOG = _watched("catalog")
LABELS = Asset("labels")
LABELER = Asset("labeler")


@dataclass(frozen=True, kw_only=True)
class Announcement:
    """What a task tells of an asset when its job is done, where the job changed it.

    A plain outlet tells at every success; an alias tells only what is added to it while the task runs.

    Attributes:
        changed: the field of the job's result that is null where nothing changed.
        extra: fields of the result, or parameters of the job, that the event carries.
    """

    asset: Asset
    changed: str
    extra: tuple[str, ...]

    @property
    def outlet(self) -> AssetAlias:
        """The outlet that a task declares."""
        return AssetAlias(f"{self.asset.name}-changed")

    def tell(self, outlet_events: Any, result: Mapping[str, Any]) -> None:
        """Add the event, unless nothing changed."""
        if result.get(self.changed) is not None:
            outlet_events[self.outlet].add(self.asset, extra={name: result.get(name) for name in self.extra})


NEW_LABELS = Announcement(asset=LABELS, changed="labels_version", extra=("run_id", "labels_version", "changes"))
NEW_LABELER = Announcement(asset=LABELER, changed="moved_to", extra=("version", "artifact_id", "previous_version"))
