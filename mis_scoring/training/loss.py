"""The two losses: on the answer token (the objective), and on the query's next tokens (an aid of the first part)."""

from dataclasses import dataclass
from typing import Any

from mis_scoring.training.model import last_hidden


@dataclass(frozen=True, kw_only=True)
class TorchBatch:
    """A `Batch` as tensors on the training device; `targets` are the answer tokens, (P,) int64."""

    token_ids: Any
    position_ids: Any
    segment_ids: Any
    readout_places: Any
    targets: Any


def to_torch(batch: Any, *, yes_id: int, no_id: int, device: str) -> TorchBatch:
    """Move a `Batch` to a device."""
    import torch

    def move(array: Any) -> Any:
        return torch.from_numpy(array).to(device).long()

    return TorchBatch(
        token_ids=move(batch.token_ids),
        position_ids=move(batch.position_ids),
        segment_ids=move(batch.segment_ids),
        readout_places=move(batch.readout_places),
        targets=move(batch.targets(yes_id=yes_id, no_id=no_id)),
    )


def losses(decoder: Any, batch: TorchBatch, *, n_lm_tokens: int) -> tuple[Any, Any, Any]:
    """Return the label loss, the language-model loss and the readouts' logits.

    Args:
        n_lm_tokens: how many of the query's tokens the language-model loss takes, drawn at random; 0 for none.
    Returns:
        mean cross-entropy over the pairs (whole vocabulary); over those tokens (0 when none); (P, vocabulary).
    """
    import torch
    import torch.nn.functional as F

    hidden = last_hidden(decoder, batch.token_ids, batch.position_ids, batch.segment_ids)
    flat = hidden.flatten(0, 1)
    logits = decoder.lm_head(flat[batch.readout_places])
    label_loss = F.cross_entropy(logits.float(), batch.targets)
    if n_lm_tokens == 0:
        return label_loss, torch.zeros((), device=label_loss.device), logits
    # A token of the query is predicted by the one before it, which is of the query too.
    inside = (batch.segment_ids[:, 1:] == 0).nonzero()
    inside = inside[torch.randperm(len(inside), device=inside.device)[:n_lm_tokens]]
    rows, columns = inside[:, 0], inside[:, 1]
    lm_logits = decoder.lm_head(hidden[rows, columns])
    lm_loss = F.cross_entropy(lm_logits.float(), batch.token_ids[rows, columns + 1])
    return label_loss, lm_loss, logits
