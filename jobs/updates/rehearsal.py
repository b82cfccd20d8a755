"""One batch on tables of its own, before the first edit comes: it finds all code loaded, and Spark's compiled.

All is real but the scores: MLflow, delta-rs, the embedding model, the publication. One member with one entry, whose
texts are words of ours; nothing of it stays.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_writer import append_rows
from jobs.updates.inbox import Batch
from jobs.updates.micro_batch import MicroBatches, State
from jobs.updates.scorer import PairRequest, ScoredPairs
from jobs.updates.update import ProfileUpdate
from schemas.catalog import CATALOG
from schemas.every import UPSTREAM_TABLES

_TEXT = "rehearsal"


def rehearse(settings: Settings, publish: Callable[[Settings, str], Mapping[str, Any]]) -> State:
    """Run a batch from its update to its publication, and return how it ended.

    Args:
        publish: takes settings and the id of a run under their tables.
    """
    with _own_tables(settings) as own:
        batches = MicroBatches(own, lambda *_: _Accepting(), partial(publish, own))
        update = ProfileUpdate(member_id=_TEXT, profile_version=1, profile_text=_TEXT)
        return batches.run(Batch(batch_id=_TEXT, updates=(update,), received_s=(0.0,))).state


@contextmanager
def _own_tables(settings: Settings) -> Iterator[Settings]:
    """Yield settings whose tables are empty, where Spark sees them, but for an entry of the catalog."""
    folder = settings.staging / _TEXT
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    given = settings.model_dump() | {"table_root": folder, "updates_write_profiles": True}
    own = Settings(**given, _env_file=None)
    entry = {"qualification_id": _TEXT, "category": "skill", "text": _TEXT, "status": "active"}
    try:
        create_missing(own.tables, *UPSTREAM_TABLES)
        append_rows(own.tables, CATALOG, [entry], transaction=_TEXT)
        yield own
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Accepting:
    """Accepts whatever it is asked, so that there is a label to publish."""

    def score(self, requests: Sequence[PairRequest]) -> list[ScoredPairs]:
        return [
            ScoredPairs(engine="{}", margins=(9.0,) * len(one.item_texts), is_reference=(False,) * len(one.item_texts))
            for one in requests
        ]

    def close(self) -> None:
        pass
