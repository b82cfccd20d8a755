"""The kernels of a GPU: Triton's where they save a pass over memory, cuBLASLt through torch for all other products."""

from dataclasses import dataclass, field

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from mis_scoring.engines.prefill.device.gated_product import gated_product
from mis_scoring.engines.prefill.device.readout import readout
from mis_scoring.engines.prefill.device.rotate import rotate
from mis_scoring.engines.prefill.device.row_norm import row_norm
from mis_scoring.engines.prefill.kernels.plain import PlainKernels
from mis_scoring.engines.prefill.kernels.product_tile import ProductTile
from mis_scoring.engines.prefill.layout import Linear
from mis_scoring.engines.prefill.rows import Alarm, Rows

HEADS_A_PROGRAM = 32


@dataclass(frozen=True, kw_only=True)
class FusedKernels(PlainKernels):
    """See `Kernels`.

    Attributes:
        tile: of the gate/up product.
        n_sms: of the device.
        is_approximate: take the device's tanh instruction; Triton's interpreter has none.
    """

    tile: ProductTile
    n_sms: int
    is_approximate: bool = True
    _fixed_scales: dict[float, torch.Tensor] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """See `Kernels`."""
        return "triton"

    def norm(self, x: torch.Tensor, delta: torch.Tensor | None, weight: torch.Tensor, out: Rows, alarm: Alarm) -> None:
        """See `Kernels`."""
        n_rows, hidden = x.shape
        scales = x if out.scales is None else out.scales  # any pointer where there is none
        row_norm[(n_rows,)](
            x, x if delta is None else delta, weight, out.values, scales, alarm.lowest_row, alarm.n_rows, self.eps,
            hidden, *pieces(hidden), delta is not None, out.scales is not None, num_warps=2,
        )  # fmt: skip

    def rotate(self, heads: torch.Tensor, weight: torch.Tensor | None, positions: torch.Tensor, alarm: Alarm) -> None:
        """See `Kernels`."""
        n_heads = heads.shape[1] // self.head_dim
        n_rows = len(heads) * n_heads
        rotate[(triton.cdiv(n_rows, HEADS_A_PROGRAM),)](
            heads, heads.stride(0), positions, self.rotary, heads if weight is None else weight, alarm.lowest_row,
            n_rows, alarm.n_rows, self.eps, n_heads, self.head_dim // 2, weight is not None, HEADS_A_PROGRAM,
            num_warps=4,
        )  # fmt: skip

    def linear(self, rows: Rows, linear: Linear, out: torch.Tensor) -> None:
        """See `Kernels`."""
        if linear.scales is None:
            super().linear(rows, linear, out)
            return
        torch._scaled_mm(
            rows.values,
            linear.weight.t(),
            scale_a=self._row_scales(rows),
            scale_b=linear.scales[None],
            bias=linear.bias,
            out_dtype=out.dtype,
            use_fast_accum=True,
            out=out,
        )

    def gated(self, rows: Rows, gate_up: Linear, out: Rows) -> None:
        """See `Kernels`."""
        tile, (n_rows, depth), n_columns = self.tile, rows.values.shape, len(gate_up.weight)
        n_programs = self.n_sms * tile.per_sm
        gated_product[(n_programs,)](
            TensorDescriptor.from_tensor(rows.values, [tile.rows, tile.depth]),
            TensorDescriptor.from_tensor(gate_up.weight, [tile.columns, tile.depth]),
            TensorDescriptor.from_tensor(out.values, [tile.rows, tile.turn]),
            self._row_scales(rows) if gate_up.is_fp8 else rows.values,
            rows.values if gate_up.scales is None else gate_up.scales,
            1.0 if out.fixed_scale is None else 1.0 / out.fixed_scale,
            n_rows, n_columns, depth, tile.rows, tile.columns, tile.depth, tile.group, n_programs, gate_up.is_fp8,
            out.fixed_scale is not None, self.is_approximate, num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip

    def readout(self, hidden: torch.Tensor, head: torch.Tensor, label_ids: torch.Tensor, out: torch.Tensor) -> None:
        """See `Kernels`."""
        n_rows, width = hidden.shape
        block = triton.next_power_of_2(width)
        readout[(n_rows,)](hidden, head, label_ids, out, width, block, label_ids.shape[1], num_warps=2)

    def _row_scales(self, rows: Rows) -> torch.Tensor:
        """A scale a row; those of a fixed one are made once for a number of rows that only grows."""
        if rows.scales is not None:
            return rows.scales
        assert rows.fixed_scale is not None
        held = self._fixed_scales.get(rows.fixed_scale)
        if held is None or len(held) < len(rows.values):
            held = torch.full((len(rows.values), 1), rows.fixed_scale, device=rows.values.device)
            self._fixed_scales[rows.fixed_scale] = held
        return held[: len(rows.values)]


def pieces(width: int) -> tuple[int, int]:
    """Return two powers of two that hold a row between them: the largest below its width, and one for the rest."""
    first = 1 << ((width - 1).bit_length() - 1)
    return first, max(16, triton.next_power_of_2(width - first))
