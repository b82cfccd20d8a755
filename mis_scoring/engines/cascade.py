"""The default engine on a CPU: Multiple-Item Scoring in one packed pass, attention in two parts.

A request costs Lq + sum(Li) tokens in every projection; padding is used inside an item's own attention alone. Attention
grows linearly with the number of items (see `cascade_attention`). Several requests may share a pass, and a query may be
computed before its items: 2 * layers * KV heads * head size numbers a token are then kept of it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mis_scoring.core.engine import QueryItems
from mis_scoring.core.errors import EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.packing import PackedRequest, pack, without_query
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.cascade_layout import CascadePart, cascade_layout
from mis_scoring.engines.requests import require_scorable
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

    def label_logits_of_many(self, requests: Sequence[QueryItems], label_tokens: LabelTokens) -> list[FloatArray]:
        """Return (n_items, 2) float32 of each request, computed in one pass; see `label_logits`."""
        limits = {"max_tokens": self.max_tokens, "vocab_size": self._vocab_size}
        for request in requests:
            require_scorable(request.query, request.items, label_tokens, **limits)
        n_tokens = sum(len(one.query) + sum(map(len, one.items)) for one in requests)
        unfilled = [one.query_keys for one in requests if one.query_keys is not None and not one.query_keys]
        try:
            logits = self._computed(lambda: self._hidden_of(requests), label_tokens, str(n_tokens))
        except EngineError:
            for keys in unfilled:
                keys.clear()
            raise
        return np.split(logits, np.cumsum([len(one.items) for one in requests])[:-1])

    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        return self._hidden_of([QueryItems(query=query, items=items)])

    def _hidden_of(self, requests: Sequence[QueryItems]) -> "torch.Tensor":
        packed = [_packed(request) for request in requests]
        ends = np.cumsum([len(one.token_ids) for one in packed])
        starts = ends - [len(one.token_ids) for one in packed]
        parts = [
            CascadePart(rows=slice(start, end), layout=cascade_layout(one), query_keys=request.query_keys)
            for start, end, one, request in zip(starts, ends, packed, requests, strict=True)
        ]
        token_ids = np.concatenate([one.token_ids for one in packed])
        position_ids = np.concatenate([one.position_ids for one in packed])
        hidden = self._run(token_ids, position_ids, parts=parts)
        return hidden[np.concatenate([start + one.readout_rows for start, one in zip(starts, packed, strict=True)])]


def _packed(request: QueryItems) -> PackedRequest:
    packed = pack(request.query, request.items)
    return without_query(packed) if request.query_keys else packed
