"""Set a run's engines up: end those that runs which are over left behind, so that this run's find their place.

The run's own engines start with the first round that has something to score (`score_round`), so a run without one
starts none.
"""

from dataclasses import dataclass
from typing import Any

from jobs.end_orphan_engines import end_orphans
from jobs.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run is to score."""

    run_id: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """End the engines of runs that are over.

    Returns:
        orphaned_runs: whose engines were found and ended; engines_ended: how many.
    """
    return end_orphans(settings, params.run_id)
