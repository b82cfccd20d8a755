"""Put the labeler that is to be promoted through the gate's five checks; one that does not hold ends the promotion."""

from dataclasses import dataclass
from typing import Any

from jobs.errors import CheckFailedError
from jobs.labeler.gate import gate_labeler
from jobs.labeler.gate_result import GateLimits, faults_of
from jobs.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which version, of which promotion."""

    run_id: str
    version: str


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """Return the version and its artifact when every check holds.

    Raises:
        CheckFailedError: lists every figure that does not keep its limit.
    """
    result = gate_labeler(settings, params.version, limits=GateLimits())
    if not result.holds:
        faults = faults_of(result.as_dict())
        raise CheckFailedError("\n".join([f"version {result.version} does not pass the gate:", *faults]))
    return {"version": result.version, "artifact_id": result.artifact_id, "checks": len(result.checks)}
