"""Fine-tune a decoder on planned steps: label-only loss, an epoch's validation, a state to go on from.

The decoder is any of transformers' causal decoders, whole or with an adapter put into it; what is frozen stays.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mis_scoring.training.batches import Batch
from mis_scoring.training.checkpoints import Position, load_state, save_state
from mis_scoring.training.flops import ModelSize, example_flops
from mis_scoring.training.plan import StepPlan
from mis_scoring.training.schedule import Schedule
from mis_scoring.training.trainer import Hyperparameters, make_optimizer, train

SAVE_EVERY_S = 60.0
Figures = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class FinetuneSettings:
    """How the weights move.

    Attributes:
        n_steps: optimizer steps in all.
        warm_up_share: of the steps; a cosine to nearly 0 follows.
        is_bfloat16: autocast; None: on a GPU only.
    """

    yes_id: int
    no_id: int
    n_steps: int
    learning_rate: float
    warm_up_share: float = 0.05
    weight_decay: float = 0.01
    is_bfloat16: bool | None = None

    def hyperparameters(self) -> Hyperparameters:
        """Return the loop's settings: no auxiliary loss, no limit of time, so that a step decides all by its number."""
        schedule = Schedule(
            max_steps=self.n_steps,
            max_seconds=float("inf"),
            peak_learning_rate=self.learning_rate,
            warm_up_steps=max(1, round(self.warm_up_share * self.n_steps)),
            lm_until=0.0,
            short_until=0.0,
        )
        return Hyperparameters(
            yes_id=self.yes_id,
            no_id=self.no_id,
            schedule=schedule,
            weight_decay=self.weight_decay,
            is_bfloat16=self.is_bfloat16,
        )


@dataclass(kw_only=True)
class FinetuneRecord:
    """What a run did, over all its starts.

    Attributes:
        n_pairs: pairs trained on, an epoch's again in the next.
        flops: the least operations of those (`flops`).
        seconds: of training alone, without validation and saving.
        epochs: an epoch's step and figures, the last one at the run's end.
    """

    n_steps: int = 0
    n_pairs: int = 0
    flops: float = 0.0
    seconds: float = 0.0
    epochs: list[dict[str, float]] = field(default_factory=list)


def finetune(
    decoder: Any,
    plan: StepPlan,
    settings: FinetuneSettings,
    *,
    validate: Callable[[Any], Figures] = lambda _: {},
    state_dir: Path | None = None,
    identity: str = "",
    log: Callable[[str], None] = print,
) -> FinetuneRecord:
    """Train in place; from a state, go on where it was saved and end as if never stopped.

    Args:
        validate: figures of the decoder, asked for after each epoch and at the end.
        state_dir: where the state is saved, once a minute and after each epoch, and looked for.
        identity: digest of all that decides the weights; a state of another run is refused.
    Raises:
        OtherRunError: the state is of another run.
    """
    hyperparameters = settings.hyperparameters()
    optimizer = make_optimizer(decoder, hyperparameters)
    start = load_state(state_dir, decoder, optimizer, identity=identity) if state_dir else Position()
    if start.step:
        log(f"going on from step {start.step} of {settings.n_steps}")
    record = FinetuneRecord(**start.notes)

    def save(position: Position) -> None:
        if state_dir:
            save_state(state_dir, decoder, optimizer, replace(position, notes=vars(record)), identity=identity)

    run = _Run(
        decoder=decoder,
        plan=plan,
        n_steps=settings.n_steps,
        record=record,
        validate=validate,
        save=save,
        log=log,
    )
    train(decoder, optimizer, run.steps(start.step), hyperparameters, start=start, on_step=run.on_step, log=log)
    return record


@dataclass(kw_only=True)
class _Run:
    """Counts what is trained on, and pauses for validation and saving."""

    decoder: Any
    plan: StepPlan
    n_steps: int
    record: FinetuneRecord
    validate: Callable[[Any], Figures]
    save: Callable[[Position], None]
    log: Callable[[str], None]

    def __post_init__(self) -> None:
        self._size = ModelSize.of(self.decoder)
        self._before_s, self._resumed = self.record.seconds, time.monotonic()

    def steps(self, first: int) -> Iterator[list[Batch]]:
        for rows in self.plan.steps(first=first):
            self.record.n_pairs += sum(len(row.items) for row in rows)
            self.record.flops += sum(example_flops(self._size, row) for row in rows)
            yield self.plan.batches(rows)

    def on_step(self, position: Position) -> None:
        self.record.n_steps = position.step
        is_last = position.step == self.n_steps
        is_epoch = is_last or position.step % self.plan.steps_per_epoch == 0
        is_due = is_epoch or time.monotonic() - self._resumed >= SAVE_EVERY_S
        if not is_due:
            return
        self._pause()
        if is_epoch:
            figures = dict(self.validate(self.decoder))
            self.record.epochs.append({"step": position.step} | figures)
            self.log(f"epoch {position.step / self.plan.steps_per_epoch:.2f} {figures}")
        self.save(position)
        self._before_s, self._resumed = self.record.seconds, time.monotonic()

    def _pause(self) -> None:
        """Stop the clock, once the device has done what it was given."""
        import torch

        if next(self.decoder.parameters()).is_cuda:
            torch.cuda.synchronize()
        self.record.seconds = self._before_s + time.monotonic() - self._resumed
