"""Score packed examples with the model that is trained, to judge it on the machine that trains it.

Float32, one row a query; the engines of `mis_scoring.engines` are the product's way to score.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mis_scoring.training.batches import by_padded_tokens, collate
from mis_scoring.training.examples import TrainingExample
from mis_scoring.training.loss import to_torch
from mis_scoring.training.model import last_hidden


def margins_of(
    decoder: Any,
    examples: Sequence[TrainingExample],
    *,
    yes_id: int,
    no_id: int,
    pad_id: int,
    rows: int = 8,
    tokens_per_batch: int = 65_536,
) -> list[npt.NDArray[np.float32]]:
    """Return z(YES) - z(NO) of every item, (n_items,) an example, in the examples' order.

    Args:
        rows: examples on the device at once, at most.
        tokens_per_batch: padded tokens on the device at once, at most; a longer example stands alone.
    """
    import torch

    device = next(decoder.parameters()).device.type
    head = decoder.lm_head.weight[[yes_id, no_id]].float()
    was_training = decoder.training
    decoder.eval()
    places = by_padded_tokens([e.n_tokens for e in examples], limit=tokens_per_batch, most=rows)
    margins: list[npt.NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(examples)
    with torch.inference_mode():
        for chosen in places:
            batch = collate([examples[i] for i in chosen], pad_id=pad_id)
            t = to_torch(batch, yes_id=yes_id, no_id=no_id, device=device)
            hidden = last_hidden(decoder, t.token_ids, t.position_ids, t.segment_ids)
            logits = hidden.flatten(0, 1)[t.readout_places].float() @ head.T
            flat = (logits[:, 0] - logits[:, 1]).cpu().numpy()
            ends = np.cumsum([len(examples[i].items) for i in chosen])
            for i, part in zip(chosen, np.split(flat, ends[:-1]), strict=True):
                margins[i] = part
    decoder.train(was_training)
    return margins
