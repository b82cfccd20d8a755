"""What the gate says: limits, figures, the five checks of the paper's Table 1, and a verdict."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from jobs.labeler.shown import shown, shown_limit

REPORTED = "reported"
Sense = Literal[">=", "<=", "=="]


@dataclass(frozen=True, kw_only=True)
class GateLimits:
    """What a version must keep to become champion.

    Attributes:
        f1_floor, balanced_floor: on the test members.
        injection_false_yes: most of the unsupported pairs accepted when the profile asks for YES.
        tie_band_share: most pairs that the reference decides; 1% can cost 14% more tokens.
        margin_difference: the furthest that packing may move a margin, in rounds of N.
        canary_tolerance: the same on the canary's pairs; the engine's own rounding where that is more.
        order_changed_share: most labels that reordering changes with the tie rule off (the paper's bound); on: none.
        pairs_per_s_floor: on the machine of the gate.
    """

    f1_floor: float = 0.90
    balanced_floor: float = 0.95
    injection_false_yes: float = 0.01
    tie_band_share: float = 0.01
    margin_difference: float = 1e-3
    canary_tolerance: float = 1e-4
    order_changed_share: float = 1e-4
    pairs_per_s_floor: float = 0.0


@dataclass(frozen=True, kw_only=True)
class GateFigure:
    """One figure with its limit in words; `note` says what is wrong or where the figure is from."""

    name: str
    value: Any
    limit: str
    holds: bool
    note: str = ""

    @classmethod
    def limited(cls, name: str, value: float | None, sense: Sense, limit: float, *, note: str = "") -> "GateFigure":
        """Compare a figure; one that was never measured does not hold."""
        if value is None:
            return cls.unmeasured(name, f"{sense} {limit:g}")
        holds = {">=": value >= limit, "<=": value <= limit, "==": value == limit}[sense]
        return cls(name=name, value=value, limit=f"{sense} {limit:g}", holds=holds, note=note)

    @classmethod
    def measured(cls, name: str, value: Any, *, note: str = "") -> "GateFigure":
        """Report a figure that has no limit, and must be there."""
        if value is None:
            return cls.unmeasured(name, REPORTED)
        return cls(name=name, value=value, limit=REPORTED, holds=True, note=note)

    @classmethod
    def unmeasured(cls, name: str, limit: str) -> "GateFigure":
        """Say that a figure is missing: missing is not good."""
        note = "never measured: `semlabel labeler evaluate` measures it"
        return cls(name=name, value=None, limit=limit, holds=False, note=note)

    @classmethod
    def failed(cls, name: str, error: Exception) -> "GateFigure":
        """Say that a check could not be done."""
        return cls(name=name, value=None, limit="can be checked", holds=False, note=str(error))


@dataclass(frozen=True, kw_only=True)
class GateCheck:
    """One check of Table 1; `asks` in the paper's words."""

    stage: str
    asks: str
    figures: Sequence[GateFigure]

    @property
    def holds(self) -> bool:
        """Whether every figure keeps its limit."""
        return all(figure.holds for figure in self.figures)


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """All checks of one artifact; each was run, whatever the others said."""

    version: str
    artifact_id: str
    scorer_id: str
    at: str
    limits: GateLimits
    checks: Sequence[GateCheck]

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Return the whole as JSON values."""
        return {
            "version": self.version,
            "artifact_id": self.artifact_id,
            "scorer_id": self.scorer_id,
            "at": self.at,
            "holds": self.holds,
            "limits": asdict(self.limits),
            "checks": [
                {"stage": c.stage, "asks": c.asks, "holds": c.holds, "figures": [asdict(f) for f in c.figures]}
                for c in self.checks
            ],
        }


def faults_of(result: dict[str, Any]) -> list[str]:
    """Return one sentence a figure that does not hold, from `as_dict`."""
    return [
        f"{check['stage']}: {figure['name']} is {shown(figure['value'])}, limit {shown_limit(figure['limit'])}"
        + (f" ({figure['note']})" if figure["note"] else "")
        for check in result["checks"]
        for figure in check["figures"]
        if not figure["holds"]
    ]
