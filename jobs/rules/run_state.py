"""Which state a run is in, by when its events were appended last."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

RunState = Literal["open", "held", "published", "planned", "failed"]

PUBLISHED = "published"
HELD = "held"
APPROVED = "approved"
PLANNED = "planned"  # and no more was meant
PILOTED = "piloted"  # its rounds are over; it was a pilot, of a plan
FAILED = "failed"
CANARY_FAILED = "canary_failed"  # at a try of a round; the next try may do better
_NO_STEPS = (FAILED, CANARY_FAILED, "stop_engines")  # nothing was done


def run_state(times: Mapping[str, datetime]) -> RunState:
    """Return published once it is, planned where no more was meant; else held until it is approved; failed until a job
    of it ends well again; else open.

    Args:
        times: event -> when it was appended last.
    """
    if PUBLISHED in times:
        return "published"
    if PLANNED in times:
        return "planned"
    if HELD in times and not (APPROVED in times and times[APPROVED] > times[HELD]):
        return "held"
    return "failed" if FAILED in times and times[FAILED] >= last_step_at(times) else "open"


def last_step_at(times: Mapping[str, datetime]) -> datetime:
    """Return when a run last did something: failing is not a step, nor is tidying up."""
    return max(at for event, at in times.items() if event not in _NO_STEPS)
