"""The tile of the gate/up product: one a shape and dtype for any number of rows, since a tile is an order of sums."""

from dataclasses import dataclass

MOST_COLUMNS = 256


@dataclass(frozen=True, kw_only=True)
class ProductTile:
    """What a program computes at a time, and how many programs an SM holds.

    Attributes:
        depth: columns of the inputs a step; group: tiles down before the next ones across.
    """

    rows: int
    columns: int
    depth: int
    stages: int
    warps: int
    group: int
    per_sm: int

    @property
    def turn(self) -> int:
        """Rows of gate, then of up, in the weight: half a tile each."""
        return self.columns // 2


def product_tile(*, hidden: int, is_fp8: bool, capability: int) -> ProductTile:
    """Return the tile of a model on a device.

    Args:
        capability: 90 for Hopper. Below, 96 KB of shared memory must do.
    """
    depth = 128 if is_fp8 else 64
    if capability < 90:
        return ProductTile(rows=128, columns=128, depth=depth // 2, stages=3, warps=8, group=8, per_sm=1)
    if is_fp8 and hidden <= 1024:  # short sums: two small programs hide each other's ends
        return ProductTile(rows=128, columns=128, depth=depth, stages=3, warps=4, group=16, per_sm=2)
    return ProductTile(rows=128, columns=MOST_COLUMNS, depth=depth, stages=3, warps=8, group=8, per_sm=1)
