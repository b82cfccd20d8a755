"""What a forward asks of its kernels. All of them write where they are told and make nothing of a forward's size."""

from typing import TYPE_CHECKING, Protocol

from mis_scoring.engines.prefill.layout import Linear
from mis_scoring.engines.prefill.rows import Alarm, Rows

if TYPE_CHECKING:
    import torch


class Kernels(Protocol):
    """M rows, K columns in, N columns out."""

    @property
    def name(self) -> str:
        """What the engine's fingerprint says."""
        ...

    def gather(self, source: "torch.Tensor", index: "torch.Tensor", out: "torch.Tensor") -> None:
        """Copy rows: out[i] = source[index[i]]."""
        ...

    def norm(
        self, x: "torch.Tensor", delta: "torch.Tensor | None", weight: "torch.Tensor", out: Rows, alarm: Alarm
    ) -> None:
        """Add delta to x in place, and write RMSNorm(x) * weight; in e4m3 with a scale a row where `out` has them."""
        ...

    def rotate(
        self, heads: "torch.Tensor", weight: "torch.Tensor | None", positions: "torch.Tensor", alarm: Alarm
    ) -> None:
        """Norm over each head where there is a weight, then rotate by position; in place on (M, heads * head_dim)."""
        ...

    def linear(self, rows: Rows, linear: Linear, out: "torch.Tensor") -> None:
        """Write rows @ weight.T + bias, (M, N)."""
        ...

    def add_linear(self, rows: Rows, linear: Linear, x: "torch.Tensor") -> None:
        """Add rows @ weight.T to x in place; for weights that are not in e4m3."""
        ...

    def gated(self, rows: Rows, gate_up: Linear, out: Rows) -> None:
        """Write silu(rows @ gate.T) * (rows @ up.T), (M, padded_intermediate); e4m3 by a fixed scale saturates."""
        ...

    def readout(
        self, hidden: "torch.Tensor", head: "torch.Tensor", label_ids: "torch.Tensor", out: "torch.Tensor"
    ) -> None:
        """Write out[i, j] = hidden[i] . head[label_ids[i, j]] in float32, each row for itself."""
        ...
