"""Make a version that passed the gate the champion that the next runs pin."""

from dataclasses import dataclass
from typing import Any

from jobs.labeler.promote import promote_labeler
from jobs.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which version, of which promotion."""

    run_id: str
    version: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """Move the deployment's alias and return the promotion's report.

    Raises:
        CheckFailedError: no passing gate of this artifact is stored.
    """
    return promote_labeler(settings, params.version)
