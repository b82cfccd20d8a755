"""Numbers in eight bits (e4m3): a scale for each row of a weight, fixed scales for activations, never an overflow.

`Fp8Profile` is part of an artifact: config.json has it under `semlabel_fp8`, whose digest is in `scorer_id`, and
`numeric_profile.quantisation` names it. An engine computes in fp8 only where both say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mis_scoring.core.errors import DataError

if TYPE_CHECKING:
    import torch

CONFIG_KEY = "semlabel_fp8"
NO_QUANTISATION = "none"
ALL, MLP = "fp8-all", "fp8-mlp"  # every linear; gate, up and down alone
LARGEST = 448.0  # of e4m3
HEADROOM = 2.0  # of an activation's largest calibrated value: e4m3 keeps its precision over 2^8 between good and bad
LARGEST_SCALE_RATIO = 64.0  # of a row's scale to the median row's, see `outlier_faults`


@dataclass(frozen=True, kw_only=True)
class Fp8Profile:
    """Which linears are in e4m3, and the scales of what has no scale of its own.

    Attributes:
        quantisation: `fp8-all` or `fp8-mlp`.
        attention_scales: of each layer's attention output; read by `fp8-all` alone.
        gated_scales: of each layer's silu(gate) * up.
    """

    quantisation: str
    attention_scales: Sequence[float]
    gated_scales: Sequence[float]

    @property
    def has_attention(self) -> bool:
        """Whether q, k, v and o are in e4m3 too."""
        return self.quantisation == ALL

    def as_dict(self) -> dict[str, Any]:
        """Return what config.json holds."""
        scales = {"attention_scales": list(self.attention_scales), "gated_scales": list(self.gated_scales)}
        return {"quantisation": self.quantisation, **scales}


def read_profile(config: Mapping[str, Any], *, quantisation: str, n_layers: int) -> Fp8Profile | None:
    """Return the profile that a checkpoint allows; None for `none`.

    Raises:
        DataError: the checkpoint says nothing of fp8, or something else.
    """
    if quantisation == NO_QUANTISATION:
        return None
    if quantisation not in (ALL, MLP):
        raise DataError(f"quantisation is {quantisation!r}; known: {NO_QUANTISATION}, {MLP}, {ALL}")
    held = config.get(CONFIG_KEY)
    if not isinstance(held, Mapping) or held.get("quantisation") != quantisation:
        found = held.get("quantisation") if isinstance(held, Mapping) else None
        raise DataError(
            f"quantisation {quantisation!r} is asked for, but config.json has {CONFIG_KEY} {found!r}: fp8 is a scorer "
            "of its own, made by `python -m mis_scoring.engines.prefill.calibrate` and measured by the gate"
        )
    profile = Fp8Profile(**held)
    for name in ("attention_scales", "gated_scales"):
        scales = getattr(profile, name)
        if len(scales) != n_layers or not all(scale > 0 for scale in scales):
            raise DataError(f"{CONFIG_KEY}.{name} has {len(scales)} scales; it must have {n_layers}, all above 0")
    return profile


def quantise_rows(values: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
    """Return e4m3 values and one float32 scale a row, (n, 1): values times scale is what was there.

    Args:
        values: (n, k), floating.
    """
    scales = values.float().abs().amax(dim=1, keepdim=True).clamp(min=1e-6) / LARGEST
    return saturated(values.float() / scales), scales


def saturated(values: "torch.Tensor") -> "torch.Tensor":
    """Return float32 values as e4m3; what is too large becomes the largest, a NaN stays one."""
    import torch

    return values.clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)


def outlier_faults(name: str, scales: "torch.Tensor") -> list[str]:
    """Return a sentence where some of a weight's rows are so large that no activation scale suits them and the rest."""
    ratio = float(scales.max() / scales.median())
    if ratio <= LARGEST_SCALE_RATIO:
        return []
    row = int(scales.argmax())
    return [f"{name}: row {row} is {ratio:.0f} times as large as the median row, at most {LARGEST_SCALE_RATIO:.0f}"]
