"""What the gate says: limits, figures, the five checks of the paper's Table 1, and a verdict."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from jobs.labeler.numeric_profile import FLOAT32, exactness
from jobs.labeler.shown import shown, shown_limit
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import ArtifactError

REPORTED = "reported"
Sense = Literal[">=", "<=", "=="]
FLOAT32_MARGIN_DIFFERENCE = 1e-3


@dataclass(frozen=True, kw_only=True)
class GateLimits:
    """What a version must keep to become champion.

    Attributes:
        f1_floor, balanced_floor: on the test members.
        injection_false_yes: most of the unsupported pairs accepted when the profile asks for YES.
        tie_band_share: most pairs that the reference decides; 1% can cost 14% more tokens.
        margin_difference: the furthest that packing may move a margin, in rounds of N; None: 1e-3 where the scores are
            float32, else reported. In 16 bits another kernel alone moves one by 0.76 (docs/prefill-engine.md): what
            bounds the labels there are the tie band, the order checks and the canary, which keep their limits.
        canary_tolerance: the same on the canary's pairs; the engine's own rounding where that is more.
        order_changed_share: most labels that reordering changes with the tie rule off (the paper's bound); on: none.
        pairs_per_s_floor: on the machine of the gate.
        profile_flipped_share, profile_f1_loss, profile_calibration_rise: against the same model in a more exact numeric
            profile, or the champion where it is this model. On the bundled labeler fp8 flips 0.04% and loses .0002
            (docs/prefill-engine.md); on random weights it flips 2 to 10%.
        profile_category_flipped_share, profile_category_f1_loss: the same by category; one flip is allowed in any.
    """

    f1_floor: float = 0.90
    balanced_floor: float = 0.95
    injection_false_yes: float = 0.01
    tie_band_share: float = 0.01
    margin_difference: float | None = None
    canary_tolerance: float = 1e-4
    order_changed_share: float = 1e-4
    pairs_per_s_floor: float = 0.0
    profile_flipped_share: float = 0.002
    profile_category_flipped_share: float = 0.005
    profile_f1_loss: float = 0.002
    profile_category_f1_loss: float = 0.005
    profile_calibration_rise: float = 0.005

    def for_artifact(self, artifact: LabelerArtifact) -> "GateLimits":
        """Return these limits, an artifact's own where those are stricter.

        Raises:
            ArtifactError: names the limits that there are not.
        """
        known = {field.name for field in fields(self)}
        unknown = sorted(set(artifact.gate_limits) - known)
        if unknown:
            faults = [f"gate_limits: no limit {name!r}; there are {', '.join(sorted(known))}" for name in unknown]
            raise ArtifactError(artifact.name, faults)
        return replace(
            self, **{name: self._stricter(name, value, artifact) for name, value in artifact.gate_limits.items()}
        )

    def margin_limit(self, artifact: LabelerArtifact) -> float | None:
        """Return how far packing may move an artifact's margins; None where it is only reported."""
        default = FLOAT32_MARGIN_DIFFERENCE if exactness(artifact.numeric_profile) == FLOAT32 else None
        return default if self.margin_difference is None else self.margin_difference

    def _stricter(self, name: str, own: float, artifact: LabelerArtifact) -> float:
        standing = self.margin_limit(artifact) if name == "margin_difference" else getattr(self, name)
        if standing is None:
            return own
        return max(standing, own) if name.endswith("_floor") else min(standing, own)


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
    def at_most(cls, name: str, value: float | None, limit: float | None, *, note: str = "") -> "GateFigure":
        """Compare a figure with a limit from above; report it where there is none."""
        if limit is None:
            return cls.measured(name, value, note=note)
        return cls.limited(name, value, "<=", limit, note=note)

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
