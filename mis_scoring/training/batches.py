"""Packed examples as arrays of one shape: tokens, reused positions, segments, readout places.

Segments are 0 for the query, i+1 for item i and -1 for padding; positions of every item start at the query's length
(arXiv 2610.36383, equations 3 and 4).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mis_scoring.training.examples import TrainingExample

PADDING_SEGMENT = -1
LENGTH_MULTIPLE = 64  # few shapes, and fused attention wants masks aligned to 8


@dataclass(frozen=True, kw_only=True)
class Batch:
    """B examples padded to T tokens, holding P pairs in order.

    Attributes:
        token_ids, position_ids, segment_ids: (B, T) int32.
        readout_places: (P,) int32, places in the flattened (B*T) rows of the items' last tokens.
        answers: (P,) bool.
    """

    token_ids: npt.NDArray[np.int32]
    position_ids: npt.NDArray[np.int32]
    segment_ids: npt.NDArray[np.int32]
    readout_places: npt.NDArray[np.int32]
    answers: npt.NDArray[np.bool_]

    def targets(self, *, yes_id: int, no_id: int) -> npt.NDArray[np.int64]:
        """Return (P,), the token that each readout place is to predict: its answer's."""
        return np.where(self.answers, yes_id, no_id)


def collate(examples: Sequence[TrainingExample], *, pad_id: int) -> Batch:
    """Pack each example into one row; the row length is the longest, rounded up."""
    longest = max(example.n_tokens for example in examples)
    length = padded_length(longest)
    token_ids = np.full((len(examples), length), pad_id, np.int32)
    position_ids = np.zeros((len(examples), length), np.int32)
    segment_ids = np.full((len(examples), length), PADDING_SEGMENT, np.int32)
    readouts: list[int] = []
    for row, example in enumerate(examples):
        place, start = 0, len(example.query)
        for segment, tokens in enumerate((example.query, *example.items)):
            end = place + len(tokens)
            token_ids[row, place:end] = tokens
            first = 0 if segment == 0 else start
            position_ids[row, place:end] = np.arange(first, first + len(tokens))
            segment_ids[row, place:end] = segment
            if segment > 0:
                readouts.append(row * length + end - 1)
            place = end
    return Batch(
        token_ids=token_ids,
        position_ids=position_ids,
        segment_ids=segment_ids,
        readout_places=np.asarray(readouts, np.int32),
        answers=np.concatenate([np.asarray(e.answers, np.bool_) for e in examples]),
    )


def padded_length(n_tokens: int) -> int:
    """Return the length of a row of so many tokens, rounded up."""
    return -(-n_tokens // LENGTH_MULTIPLE) * LENGTH_MULTIPLE


def by_padded_tokens(lengths: Sequence[int], *, limit: int, most: int | None = None) -> Iterator[list[int]]:
    """Yield places of rows, shortest first, so that rows x padded length stays within the limit.

    Args:
        lengths: tokens of each row; one that is over the limit stands alone.
        most: rows in a group, at most.
    """
    chosen: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        is_full = padded_length(lengths[place]) * (len(chosen) + 1) > limit or len(chosen) == most
        if chosen and is_full:
            yield chosen
            chosen = []
        chosen.append(place)
    if chosen:
        yield chosen
