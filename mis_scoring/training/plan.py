"""Which pairs each step trains on, and in which rows: decided by the seed alone, so that a run can go on anywhere.

A step is a fixed number of pairs, whatever the layout: packed (a profile once, with several items, under the MIS mask)
or single-item prompts (a copy of the profile an item). Both have the same gradient, so the layout is a matter of speed.
Rows go to the device in batches bounded by padded tokens; a step's batches add up their gradients.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mis_scoring.training.batches import LENGTH_MULTIPLE, Batch, by_padded_tokens, collate
from mis_scoring.training.examples import TrainingExample, split_items


@dataclass(frozen=True, kw_only=True)
class StepPlan:
    """The steps of a run over examples, one example a member with all its pairs.

    Attributes:
        items_per_example: at most so many items share one packed profile.
        pairs_per_step: pairs of an optimizer step; the last step of an epoch may have fewer.
        tokens_per_batch: padded tokens on the device at once; a row that is longer stands alone.
    """

    examples: Sequence[TrainingExample]
    is_packed: bool
    items_per_example: int
    pairs_per_step: int
    tokens_per_batch: int
    seed: int
    pad_id: int = 0  # any token will do: padding is seen by nothing and read by nothing

    @property
    def n_pairs(self) -> int:
        """Pairs of an epoch."""
        return sum(len(example.items) for example in self.examples)

    @property
    def steps_per_epoch(self) -> int:
        """Optimizer steps of an epoch."""
        return -(-self.n_pairs // self.pairs_per_step)

    def steps(self, *, first: int = 0) -> Iterator[list[TrainingExample]]:
        """Yield each step's rows without end, from step number `first` on."""
        epoch, skipped = divmod(first, self.steps_per_epoch)
        while True:
            for number, groups in enumerate(self._epoch(epoch)):
                if number >= skipped:
                    yield [row for group in groups for row in self._rows(group)]
            epoch, skipped = epoch + 1, 0

    def batches(self, rows: Sequence[TrainingExample]) -> list[Batch]:
        """Collate a step's rows, rows of like length together."""
        return [
            collate([rows[i] for i in places], pad_id=self.pad_id)
            for places in by_padded_tokens([row.n_tokens for row in rows], limit=self.tokens_per_batch)
        ]

    def _epoch(self, epoch: int) -> Iterator[list[TrainingExample]]:
        """Yield each step's groups: items shuffled within a member, groups shuffled, cut where a step is full."""
        rng = random.Random(f"semlabel epoch {self.seed}/{epoch}")
        groups = [
            group
            for example in self.examples
            for group in split_items(_shuffled(example, rng), items_per_example=self.items_per_example)
        ]
        rng.shuffle(groups)
        step: list[TrainingExample] = []
        room = self.pairs_per_step
        for group in groups:
            for part in _cut(group, room, self.pairs_per_step):
                step.append(part)
                room -= len(part.items)
                if room == 0:
                    yield step
                    step, room = [], self.pairs_per_step
        if step:
            yield step

    def _rows(self, group: TrainingExample) -> Iterator[TrainingExample]:
        if not self.is_packed:
            yield from split_items(group, items_per_example=1)
            return
        start, tokens = 0, len(group.query)
        limit = self.tokens_per_batch // LENGTH_MULTIPLE * LENGTH_MULTIPLE  # a row is padded to such a length
        for place, item in enumerate(group.items):
            if place > start and tokens + len(item) > limit:
                yield _part(group, start, place)
                start, tokens = place, len(group.query)
            tokens += len(item)
        yield _part(group, start, len(group.items))


def _shuffled(example: TrainingExample, rng: random.Random) -> TrainingExample:
    order = list(range(len(example.items)))
    rng.shuffle(order)
    return TrainingExample(
        query=example.query, items=[example.items[i] for i in order], answers=[example.answers[i] for i in order]
    )


def _cut(group: TrainingExample, room: int, pairs_per_step: int) -> Iterator[TrainingExample]:
    start = 0
    while start < len(group.items):
        end = min(len(group.items), start + room)
        yield _part(group, start, end)
        start, room = end, pairs_per_step


def _part(group: TrainingExample, start: int, end: int) -> TrainingExample:
    return TrainingExample(query=group.query, items=group.items[start:end], answers=group.answers[start:end])
