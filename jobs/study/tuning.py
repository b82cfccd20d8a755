"""Both methods' training: the same members in the same order, the same steps, the same loop; only the texts differ."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jobs.study.cells import GENERATION, Cell
from jobs.study.members_file import TrainingMember
from jobs.study.models import Base
from mis_scoring.evaluation.packed_generation import GenerationExample, generation_example, training_lists
from mis_scoring.training.batches import LENGTH_MULTIPLE, PADDING_SEGMENT, Batch, collate
from mis_scoring.training.checkpoints import Position
from mis_scoring.training.examples import TrainingExample
from mis_scoring.training.schedule import Schedule
from mis_scoring.training.trainer import Hyperparameters, make_optimizer, train

BATCHES_PER_DRAW = 4  # sorted by length among themselves, so that rows need little padding


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """How a base is tuned; the same for both methods.

    Attributes:
        members_per_step: about 40 pairs each.
        lm_until: share of the run with the auxiliary language-model loss, which random weights need.
    """

    members_per_step: int
    learning_rate: float
    lm_until: float = 0.0
    max_seconds: float = 1e9


@dataclass(frozen=True, kw_only=True)
class ListBatch(Batch):
    """Rows of prompt and answer list, causal throughout; a readout place is any whose next token is of a list.

    Attributes:
        target_ids: (P,) int64, those next tokens.
    """

    target_ids: npt.NDArray[np.int64]

    def targets(self, *, yes_id: int, no_id: int) -> npt.NDArray[np.int64]:
        """Return the answer lists' tokens, commas and ends among them."""
        return self.target_ids


def collate_lists(examples: Sequence[GenerationExample], *, pad_id: int) -> ListBatch:
    """Put each example into one row; the row length is the longest, rounded up."""
    length = -(-max(len(e.token_ids) for e in examples) // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
    token_ids = np.full((len(examples), length), pad_id, np.int32)
    segment_ids = np.full((len(examples), length), PADDING_SEGMENT, np.int32)
    for row, example in enumerate(examples):
        token_ids[row, : len(example.token_ids)] = example.token_ids
        segment_ids[row, : len(example.token_ids)] = 0
    places = [row * length + place for row, example in enumerate(examples) for place in example.loss_places]
    targets = np.concatenate([np.asarray(e.targets, np.int64) for e in examples])
    return ListBatch(
        token_ids=token_ids,
        position_ids=np.broadcast_to(np.arange(length, dtype=np.int32), token_ids.shape).copy(),
        segment_ids=segment_ids,
        readout_places=np.asarray(places, np.int32),
        answers=np.zeros(len(targets), np.bool_),
        target_ids=targets,
    )


def tune(
    decoder: Any,
    base: Base,
    cell: Cell,
    members: Sequence[TrainingMember],
    tuning: Tuning,
    *,
    log: Callable[[str], None],
) -> dict[str, float]:
    """Train in place and return steps, seconds, tokens and pairs met."""
    n_batches = -(-len(members) // tuning.members_per_step) * cell.n_passes
    labels = base.label_tokens
    schedule = Schedule(
        max_steps=n_batches,
        max_seconds=tuning.max_seconds,
        peak_learning_rate=tuning.learning_rate,
        warm_up_steps=max(5, n_batches // 20),
        lm_until=tuning.lm_until,
        short_until=0.0,
    )
    settings = Hyperparameters(yes_id=labels.yes, no_id=labels.no, schedule=schedule)
    met = {"tokens": 0, "padded_tokens": 0}

    def counted() -> Iterator[Batch]:
        for batch in batches(base, cell, members, tuning.members_per_step):
            met["tokens"] += int((batch.segment_ids >= 0).sum())
            met["padded_tokens"] += batch.token_ids.size
            yield batch

    began = time.monotonic()
    end = train(
        decoder,
        make_optimizer(decoder, settings),
        ([batch] for batch in counted()),
        settings,
        start=Position(),
        log=log,
    )
    pairs = sum(len(m.answers) for m in members) * end.step / n_batches * cell.n_passes
    return {"steps": end.step, "planned_steps": n_batches, "seconds": time.monotonic() - began, "pairs": pairs, **met}


def batches(base: Base, cell: Cell, members: Sequence[TrainingMember], members_per_step: int) -> Iterator[Batch]:
    """Yield a batch a step, `n_passes` times over the members; as many steps for either method."""
    is_generation = cell.method == GENERATION
    pad_id, rng = base.pad_id, random.Random(f"semlabel study {cell.seed}")
    examples = _list_examples(base, members, rng) if is_generation else _scoring_examples(base, members)
    for _ in range(cell.n_passes):
        order = list(range(len(members)))
        rng.shuffle(order)
        for chosen in _chunks(order, members_per_step, members, rng):
            if is_generation:
                yield collate_lists([e for i in chosen for e in examples(i)], pad_id=pad_id)
            else:
                yield collate([e for i in chosen for e in examples(i)], pad_id=pad_id)


def _chunks(
    order: Sequence[int], size: int, members: Sequence[TrainingMember], rng: random.Random
) -> Iterator[Sequence[int]]:
    """Cut an order into steps; members of like length go together within a few steps."""
    for start in range(0, len(order), size * BATCHES_PER_DRAW):
        drawn = sorted(order[start : start + size * BATCHES_PER_DRAW], key=lambda i: len(members[i].profile_text))
        parts = [drawn[s : s + size] for s in range(0, len(drawn), size)]
        rng.shuffle(parts)
        yield from parts


def _scoring_examples(base: Base, members: Sequence[TrainingMember]) -> Callable[[int], list[Any]]:
    tokenizer = base.scoring_tokenizer
    layout = tokenizer.layout
    items: dict[str, list[int]] = {}

    def item(text: str) -> list[int]:
        if text not in items:
            items[text] = tokenizer.encode_item(layout.render_item(text))
        return items[text]

    def examples(i: int) -> list[Any]:
        member = members[i]
        return [
            TrainingExample(
                query=tokenizer.encode_query(layout.render_query(member.profile_text)),
                items=[item(text) for text in member.qualifications],
                answers=member.answers,
            )
        ]

    return examples


def _list_examples(base: Base, members: Sequence[TrainingMember], rng: random.Random) -> Callable[[int], list[Any]]:
    tokenizer = base.generation_tokenizer

    def examples(i: int) -> list[Any]:
        member = members[i]
        query = tokenizer.encode_query(member.profile_text)
        return [
            generation_example(
                query, [member.qualifications[p] for p in places], [member.answers[p] for p in places], tokenizer
            )
            for places in training_lists(len(member.answers), rng)
        ]

    return examples
