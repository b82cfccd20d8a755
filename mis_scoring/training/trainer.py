"""The training loop: AdamW, cosine, clipping, bfloat16 autocast on a GPU; resumable, and prints how it goes.

A step is one batch or several: the gradients of several add up to that of their pairs together, so that memory is
bounded by a batch and not by a step.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mis_scoring.training.batches import Batch
from mis_scoring.training.checkpoints import Position
from mis_scoring.training.loss import losses, to_torch
from mis_scoring.training.schedule import Schedule

PRINT_EVERY_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """What the loop needs beside the model and the data.

    Attributes:
        is_bfloat16: whether the matrices multiply in bfloat16 (weights stay float32); None: on a GPU only.
    """

    yes_id: int
    no_id: int
    schedule: Schedule
    n_lm_tokens: int = 8_192
    weight_decay: float = 0.1
    max_grad_norm: float = 1.0
    is_bfloat16: bool | None = None


@dataclass(kw_only=True)
class _Window:
    """Sums since the last printed line, kept on the device so that no step waits for the GPU."""

    steps: int = 0
    pairs: int = 0
    profiles: int = 0
    waited_s: float = 0.0
    sums: list[Any] = field(default_factory=list)


def make_optimizer(decoder: Any, settings: Hyperparameters) -> Any:
    """Return AdamW of the weights that are not frozen; norms and other vectors do not decay."""
    import torch

    matrices = [p for p in decoder.parameters() if p.requires_grad and p.dim() >= 2]
    vectors = [p for p in decoder.parameters() if p.requires_grad and p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(
        groups, lr=settings.schedule.peak_learning_rate, betas=(0.9, 0.98), fused=matrices[0].is_cuda
    )


def train(
    decoder: Any,
    optimizer: Any,
    steps: Iterable[Sequence[Batch]],
    settings: Hyperparameters,
    *,
    start: Position,
    on_progress: Callable[[float], None] = lambda _: None,
    on_step: Callable[[Position], None] = lambda _: None,
    log: Callable[[str], None] = print,
) -> Position:
    """Train until the schedule's end or the last step; return where that was.

    Args:
        steps: the batches of each optimizer step.
        on_progress: told the run's progress before each step (the data may depend on it).
        on_step: told the position after each step (to save, to validate).
    """
    device = next(decoder.parameters()).device.type
    decoder.train()
    began, step, elapsed_s = time.monotonic() - start.elapsed_s, start.step, start.elapsed_s
    window, printed = _Window(), time.monotonic()
    source = iter(steps)
    while (progress := settings.schedule.progress(step=step, elapsed_s=elapsed_s)) < 1.0:
        on_progress(progress)
        asked = time.monotonic()
        batches = next(source, None)
        if batches is None:
            break
        window.waited_s += time.monotonic() - asked
        window.sums.append(_step(decoder, optimizer, batches, settings, device=device, step=step, progress=progress))
        window.steps, window.pairs = window.steps + 1, window.pairs + sum(len(b.answers) for b in batches)
        window.profiles += sum(len(b.token_ids) for b in batches)
        step, elapsed_s = step + 1, time.monotonic() - began
        on_step(Position(step=step, elapsed_s=elapsed_s, n_starts=start.n_starts))
        if time.monotonic() - printed >= PRINT_EVERY_S:
            log(_line(window, step=step, elapsed_s=elapsed_s, progress=progress, took_s=time.monotonic() - printed))
            window, printed = _Window(), time.monotonic()
    return Position(step=step, elapsed_s=elapsed_s, n_starts=start.n_starts)


def _step(
    decoder: Any,
    optimizer: Any,
    batches: Sequence[Batch],
    settings: Hyperparameters,
    *,
    device: str,
    step: int,
    progress: float,
) -> Any:
    """Take one optimizer step; return (label loss, language-model loss, share right) on the device."""
    import torch

    schedule = settings.schedule
    for group in optimizer.param_groups:
        group["lr"] = schedule.learning_rate(step=step, progress=progress)
    n_pairs = sum(len(batch.answers) for batch in batches)
    figures = [
        _add_gradients(
            decoder,
            batch,
            settings,
            device=device,
            share=len(batch.answers) / n_pairs,
            lm_weight=schedule.lm_weight(progress),
        )
        for batch in batches
    ]
    trained = [p for p in decoder.parameters() if p.requires_grad]
    torch.nn.utils.clip_grad_norm_(trained, settings.max_grad_norm)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return sum(figures)


def _add_gradients(
    decoder: Any, batch: Batch, settings: Hyperparameters, *, device: str, share: float, lm_weight: float
) -> Any:
    """Add a batch's part, its share of the step's pairs, to the gradients; return its part of the figures."""
    import torch

    tensors = to_torch(batch, yes_id=settings.yes_id, no_id=settings.no_id, device=device)
    is_bfloat16 = device == "cuda" if settings.is_bfloat16 is None else settings.is_bfloat16
    with torch.autocast(device, torch.bfloat16, enabled=is_bfloat16):
        label_loss, lm_loss, logits = losses(decoder, tensors, n_lm_tokens=settings.n_lm_tokens if lm_weight > 0 else 0)
    (share * (label_loss + lm_weight * lm_loss)).backward()
    with torch.no_grad():
        says_yes = logits[:, settings.yes_id] >= logits[:, settings.no_id]
        is_right = (says_yes == (tensors.targets == settings.yes_id)).float().mean()
        return share * torch.stack([label_loss.detach(), lm_loss.detach(), is_right])


def _line(window: _Window, *, step: int, elapsed_s: float, progress: float, took_s: float) -> str:
    label_loss, lm_loss, right = (sum(window.sums) / window.steps).tolist()
    return (
        f"step {step} {elapsed_s:.0f}s {progress:.0%} loss {label_loss:.4f} lm {lm_loss:.3f} right {right:.4f} "
        f"{window.profiles / took_s:.1f} profiles/s {window.pairs / took_s:.1f} pairs/s "
        f"wait {window.waited_s / took_s:.0%}"
    )
