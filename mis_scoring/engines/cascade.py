"""The default engine on a CPU: Multiple-Item Scoring in one packed pass, attention in two parts.

A request costs Lq + sum(Li) tokens in every projection; padding is used inside an item's own attention alone. Attention
grows linearly with the number of items (see `cascade_attention`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mis_scoring.core.labels import TokenIds
from mis_scoring.core.packing import pack
from mis_scoring.engines.cascade_layout import cascade_layout
from mis_scoring.engines.torch_engine import TorchEngine

if TYPE_CHECKING:
    import torch


class CascadeEngine(TorchEngine):
    """Scores all items of a query in one pass; agrees with single prompts within float32 rounding, not in bits."""

    name = "cascade"
    attention = "semlabel_cascade"

    def __init__(self, checkpoint_dir: Path, *, threads: int | None = None) -> None:
        from transformers import AttentionInterface

        from mis_scoring.engines.cascade_attention import NAME, cascade_attention

        AttentionInterface.register(NAME, cascade_attention)
        super().__init__(checkpoint_dir, threads=threads)

    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        packed = pack(query, items)
        hidden = self._run(packed.token_ids, packed.position_ids, layout=cascade_layout(packed))
        return hidden[packed.readout_rows.tolist()]
