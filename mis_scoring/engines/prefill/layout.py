"""The engine's layout of a decoder's matrices: what one product computes lies together.

q, k and v are one matrix, in the last layer q apart from k and v; gate and up come in turns of `turn` rows, so that one
tile of a product holds both of a pair. The intermediate size is filled up to whole turns with rows of zeros, which
compute zeros.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Linear:
    """y = x @ weight.T + bias.

    Attributes:
        weight: (n, k), in the dtype of the activations or e4m3.
        scales: (n,) float32 where the weight is e4m3.
        input_scale: of an input in e4m3 that has no scales of its own.
    """

    weight: "torch.Tensor"
    bias: "torch.Tensor | None" = None
    scales: "torch.Tensor | None" = None
    input_scale: float | None = None

    @property
    def is_fp8(self) -> bool:
        """Whether the weight, and with it the input, is in e4m3."""
        return self.scales is not None

    def part(self, start: int, end: int) -> "Linear":
        """Return rows of it: the same products, fewer columns."""
        return Linear(
            weight=self.weight[start:end],
            bias=None if self.bias is None else self.bias[start:end],
            scales=None if self.scales is None else self.scales[start:end],
            input_scale=self.input_scale,
        )


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """One layer; norms are (hidden,) or (head_dim,)."""

    attention_norm: "torch.Tensor"
    mlp_norm: "torch.Tensor"
    query_norm: "torch.Tensor | None"
    key_norm: "torch.Tensor | None"
    qkv: Linear
    out: Linear
    gate_up: Linear
    down: Linear


@dataclass(frozen=True, kw_only=True)
class Weights:
    """All of a decoder, on one device.

    Attributes:
        embedding: (vocab_size, hidden). head: the same tensor where the model is tied.
        turn: rows of gate, then of up, and so on, in every `gate_up`.
        padded_intermediate: columns of silu(gate) * up, a multiple of `turn`.
    """

    embedding: "torch.Tensor"
    head: "torch.Tensor"
    final_norm: "torch.Tensor"
    layers: tuple[LayerWeights, ...]
    turn: int
    padded_intermediate: int


def padded(intermediate: int, turn: int) -> int:
    """Return the intermediate size in whole turns."""
    return -(-intermediate // turn) * turn


def in_turns(gate: "torch.Tensor", up: "torch.Tensor", turn: int) -> "torch.Tensor":
    """Return (2 * padded, k): `turn` rows of gate, as many of up, and so on."""
    import torch

    missing = padded(len(gate), turn) - len(gate)
    both = [torch.nn.functional.pad(part, (0, 0, 0, missing)).unflatten(0, (-1, turn)) for part in (gate, up)]
    return torch.stack(both, dim=1).flatten(0, 2)
