"""Activations of many tokens, and where a value that is not finite is reported."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

NOTHING_WRONG = 2**31 - 1
CHECKS_OF_A_LAYER = ("its input", "its keys", "after attention")


@dataclass(frozen=True, kw_only=True)
class Rows:
    """One row a token.

    Attributes:
        values: (m, k), in the activations' dtype or e4m3.
        scales: (m, 1) float32 where the values are e4m3 and have scales of their own.
        fixed_scale: where they are e4m3 and share one: values times scale is what is meant.
    """

    values: "torch.Tensor"
    scales: "torch.Tensor | None" = None
    fixed_scale: float | None = None

    @property
    def is_fp8(self) -> bool:
        """Whether the values are in e4m3."""
        return self.scales is not None or self.fixed_scale is not None


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """One check of a forward: the lowest row that is not finite, NOTHING_WRONG where there is none.

    Attributes:
        lowest_row: (1,) int32, on the device.
        n_rows: rows that count; what lies behind them is padding.
    """

    lowest_row: "torch.Tensor"
    n_rows: int


def n_checks(n_layers: int) -> int:
    """Return how many checks a forward has: those of each layer, and one at the end."""
    return n_layers * len(CHECKS_OF_A_LAYER) + 1


def name_of_check(number: int, n_layers: int) -> str:
    """Return where a check looks, in words."""
    layer, check = divmod(number, len(CHECKS_OF_A_LAYER))
    return f"layer {layer}, {CHECKS_OF_A_LAYER[check]}" if layer < n_layers else "the last hidden state"


def is_over_items(number: int, n_layers: int) -> bool:
    """Return whether a check's rows are the items' last tokens: the last layer's MLP, and what follows."""
    return number >= n_layers * len(CHECKS_OF_A_LAYER) - 1
