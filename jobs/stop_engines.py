"""End the engines that a run left warm on a Ray that outlives its drivers; a run without any is no error."""

from dataclasses import dataclass
from typing import Any

from jobs.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Params:
    """Whose engines to end."""

    run_id: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """End them and say how many there were.

    Returns:
        engines_ended.
    """
    return {"engines_ended": _end(settings, params.run_id) if settings.ray_address else 0}


def _end(settings: Settings, run_id: str) -> int:
    from mis_scoring.ray_data.named_engines import end_engines
    from mis_scoring.ray_data.session import ray_session

    with ray_session(address=settings.ray_address):
        return len(end_engines(run_id))
