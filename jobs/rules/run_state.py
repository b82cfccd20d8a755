"""Which state a run is in, by when its events were appended last."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

RunState = Literal["open", "held", "published", "planned", "rejected", "failed"]

PUBLISHED = "published"
HELD = "held"
APPROVED = "approved"
PLANNED = "planned"  # and no more was meant
REJECTED = "rejected"  # a person did not want its plan; Airflow may be told to ask again
PILOTED = "piloted"  # its rounds are over; it was a pilot, of a plan
FAILED = "failed"
CANARY_FAILED = "canary_failed"  # at a try of a round; the next try may do better
_ENDS: tuple[Literal["rejected", "failed"], ...] = ("rejected", "failed")
_NO_STEPS = (FAILED, REJECTED, CANARY_FAILED, "stop_engines")  # nothing was done


def run_state(times: Mapping[str, datetime]) -> RunState:
    """Return published once it is, planned where no more was meant; else held until it is approved; rejected or failed
    until a job of it ends well again; else open.

    Args:
        times: event -> when it was appended last.
    """
    if PUBLISHED in times:
        return "published"
    if PLANNED in times:
        return "planned"
    if HELD in times and not (APPROVED in times and times[APPROVED] > times[HELD]):
        return "held"
    last_step = last_step_at(times)
    ends = {times[event]: event for event in _ENDS if event in times and times[event] >= last_step}
    return ends[max(ends)] if ends else "open"


def last_step_at(times: Mapping[str, datetime]) -> datetime:
    """Return when a run last did something: failing is not a step, nor is tidying up."""
    return max(at for event, at in times.items() if event not in _NO_STEPS)
