"""All kernels in plain torch, on any device: what the fused ones are compared with, and what computes on a CPU."""

from dataclasses import dataclass

import torch
from torch.nn.functional import silu

from mis_scoring.engines.prefill.fp8 import quantise_rows, saturated
from mis_scoring.engines.prefill.layout import Linear
from mis_scoring.engines.prefill.rows import Alarm, Rows


@dataclass(frozen=True, kw_only=True)
class PlainKernels:
    """See `Kernels`.

    Attributes:
        rotary: (positions, head_dim), see `rotary_table`.
        turn: rows of gate, then of up, in a gate_up.
    """

    rotary: torch.Tensor
    head_dim: int
    eps: float
    turn: int

    @property
    def name(self) -> str:
        """See `Kernels`."""
        return "torch"

    def gather(self, source: torch.Tensor, index: torch.Tensor, out: torch.Tensor) -> None:
        """See `Kernels`."""
        if source.dtype == torch.float8_e4m3fn:  # torch copies e4m3 as bytes alone
            source, out = source.view(torch.uint8), out.view(torch.uint8)
        torch.index_select(source, 0, index, out=out)

    def norm(self, x: torch.Tensor, delta: torch.Tensor | None, weight: torch.Tensor, out: Rows, alarm: Alarm) -> None:
        """See `Kernels`."""
        if delta is not None:
            x.add_(delta)
        wide = x.float()
        sound_alarm(alarm, wide)
        write_rows(normed(wide, weight, self.eps), out)

    def rotate(self, heads: torch.Tensor, weight: torch.Tensor | None, positions: torch.Tensor, alarm: Alarm) -> None:
        """See `Kernels`."""
        sound_alarm(alarm, heads.float())
        heads.copy_(self.rotated(heads, weight, positions))

    def rotated(self, heads: torch.Tensor, weight: torch.Tensor | None, positions: torch.Tensor) -> torch.Tensor:
        """Return float32 heads with norm and rotation, (m, heads * head_dim)."""
        wide = heads.float().unflatten(1, (-1, self.head_dim))
        if weight is not None:
            wide = normed(wide, weight, self.eps)
        cos, sin = self.rotary[positions][:, None].chunk(2, dim=-1)
        low, high = wide.chunk(2, dim=-1)
        return torch.cat([low * cos - high * sin, high * cos + low * sin], dim=-1).flatten(1)

    def linear(self, rows: Rows, linear: Linear, out: torch.Tensor) -> None:
        """See `Kernels`."""
        if linear.is_fp8:
            out.copy_(fp8_product(rows, linear))
        elif linear.bias is None:
            torch.mm(rows.values, linear.weight.t(), out=out)
        else:
            torch.addmm(linear.bias, rows.values, linear.weight.t(), out=out)

    def add_linear(self, rows: Rows, linear: Linear, x: torch.Tensor) -> None:
        """See `Kernels`."""
        torch.addmm(x, rows.values, linear.weight.t(), out=x)

    def gated(self, rows: Rows, gate_up: Linear, out: Rows) -> None:
        """See `Kernels`."""
        product = fp8_product(rows, gate_up) if gate_up.is_fp8 else (rows.values @ gate_up.weight.t()).float()
        gate, up = product.unflatten(1, (-1, 2, self.turn)).unbind(dim=2)
        write_rows((silu(gate) * up).flatten(1), out)

    def readout(self, hidden: torch.Tensor, head: torch.Tensor, label_ids: torch.Tensor, out: torch.Tensor) -> None:
        """See `Kernels`."""
        out.copy_((hidden.float()[:, None] * head[label_ids].float()).sum(dim=-1))


def normed(wide: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Return RMSNorm over the last dimension, float32."""
    return wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps) * weight.float()


def fp8_product(rows: Rows, linear: Linear) -> torch.Tensor:
    """Return (m, n) float32: e4m3 values times their scales, products and sums in float32."""
    assert linear.scales is not None
    product = (rows.values.float() @ linear.weight.float().t()) * linear.scales
    product = product * (rows.scales if rows.scales is not None else rows.fixed_scale)
    return product if linear.bias is None else product + linear.bias.float()


def write_rows(wide: torch.Tensor, out: Rows) -> None:
    """Write float32 values in what `out` is made of."""
    if out.scales is not None:
        values, scales = quantise_rows(wide)
        out.values.copy_(values)
        out.scales.copy_(scales)
    elif out.fixed_scale is not None:
        out.values.copy_(saturated(wide / out.fixed_scale))
    else:
        out.values.copy_(wide)


def sound_alarm(alarm: Alarm, wide: torch.Tensor) -> None:
    """Report the lowest row whose squares do not sum up to a number."""
    wrong = (~wide[: alarm.n_rows].square().sum(dim=1).isfinite()).nonzero()
    if len(wrong):
        alarm.lowest_row.clamp_(max=int(wrong[0]))
