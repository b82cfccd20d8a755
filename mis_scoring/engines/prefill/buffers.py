"""All memory that forwards compute in, taken once: a forward within its limits cannot run out of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from mis_scoring.engines.prefill.layout import Linear, Weights
from mis_scoring.engines.prefill.rows import Rows
from mis_scoring.engines.prefill.shape import DecoderShape

Columns = Mapping[str, tuple[int, torch.dtype]]


@dataclass(frozen=True, kw_only=True)
class RowBuffers:
    """Activations, a row a token or an item; where linears are in e4m3, `quantised`, `scales` and `delta` too."""

    x: torch.Tensor
    normed: torch.Tensor
    heads: torch.Tensor
    attended: torch.Tensor
    gated: torch.Tensor
    quantised: torch.Tensor | None = None
    scales: torch.Tensor | None = None
    delta: torch.Tensor | None = None

    @classmethod
    def allocate(cls, n_rows: int, columns: Columns, device: str) -> "RowBuffers":
        """Take the memory of so many rows."""
        return cls(**{n: torch.zeros(n_rows, w, dtype=d, device=device) for n, (w, d) in columns.items()})

    def first(self, n_rows: int) -> "RowBuffers":
        """Return views of the first rows."""
        return RowBuffers(**{name: part[:n_rows] for name, part in self._parts().items()})

    def input_of(self, linear: Linear) -> Rows:
        """Return where the norm before a linear writes."""
        if linear.is_fp8:
            assert self.quantised is not None
            return Rows(values=self.quantised, scales=self.scales)
        return Rows(values=self.normed)

    def key_values(self, width: int) -> torch.Tensor:
        """Return (n_rows, width) in the memory of `heads`, without gaps."""
        return self.heads.view(-1)[: len(self.heads) * width].view(-1, width)

    def _parts(self) -> dict[str, torch.Tensor]:
        return {name: part for name, part in vars(self).items() if part is not None}


def columns_of(shape: DecoderShape, weights: Weights, dtype: torch.dtype, *, heads_width: int) -> Columns:
    """Return width and dtype of every buffer.

    Args:
        heads_width: of queries, keys and values, or of queries alone.
    """
    layer, e4m3 = weights.layers[0], torch.float8_e4m3fn
    columns = {
        "x": (shape.hidden, dtype),
        "normed": (shape.hidden, dtype),
        "heads": (heads_width, dtype),
        "attended": (shape.query_width, e4m3 if layer.out.is_fp8 else dtype),
        "gated": (weights.padded_intermediate, e4m3 if layer.down.is_fp8 else dtype),
    }
    if layer.gate_up.is_fp8:
        columns |= {"quantised": (shape.hidden, e4m3), "scales": (1, torch.float32), "delta": (shape.hidden, dtype)}
    return columns


def row_bytes(columns: Columns) -> int:
    """Return the memory of one row."""
    return sum(width * dtype.itemsize for width, dtype in columns.values())
