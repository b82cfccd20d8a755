"""Semantic scoring in the study: margins of a slice in an order, packed under the MIS mask or one pair a prompt."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jobs.study.models import Base
from jobs.study.slices import Slice
from mis_scoring.evaluation.order_sensitivity import Order
from mis_scoring.training.examples import TrainingExample
from mis_scoring.training.pair_scoring import margins_of

FloatArray = npt.NDArray[np.float32]
ITEMS_PER_PASS = 4_000
SINGLE_ROWS = 192


class SliceScorer:
    """Scores one slice with any decoder of one base; texts are tokenized once."""

    def __init__(self, base: Base, slice_: Slice) -> None:
        tokenizer = base.scoring_tokenizer
        layout = tokenizer.layout
        texts = {c.text for m in slice_.members for c in m.candidates}
        items = {text: tokenizer.encode_item(layout.render_item(text)) for text in texts}
        self.queries = [tokenizer.encode_query(layout.render_query(m.profile_text)) for m in slice_.members]
        self.items = [[items[c.text] for c in m.candidates] for m in slice_.members]
        labels = base.label_tokens
        self._firsts = np.cumsum([0, *map(len, self.items)]).tolist()
        self._tokens = {"yes_id": labels.yes, "no_id": labels.no, "pad_id": base.pad_id}

    def margins(self, decoder: Any, order: Order) -> FloatArray:
        """Return (n,) margins in candidate order; the items were asked in `order`, packed in its groups."""
        examples, places = [], []
        for member, group in order.groups():
            examples.append(self._example(member, group))
            places.append([self._firsts[member] + p for p in group])
        rows = max(1, ITEMS_PER_PASS // order.group_size)
        return self._scatter(margins_of(decoder, examples, rows=rows, **self._tokens), places)

    def single_margins(self, decoder: Any, is_wanted: npt.NDArray[np.bool_]) -> FloatArray:
        """Return (n,) margins of the wanted pairs, each a prompt of its own; NaN for the others."""
        examples, places = [], []
        for member, items in enumerate(self.items):
            for place in range(len(items)):
                if is_wanted[self._firsts[member] + place]:
                    examples.append(self._example(member, [place]))
                    places.append([self._firsts[member] + place])
        margins = margins_of(decoder, examples, rows=SINGLE_ROWS, **self._tokens) if examples else []
        return self._scatter(margins, places)

    @property
    def n_pairs(self) -> int:
        """Pairs of the slice."""
        return sum(map(len, self.items))

    def _example(self, member: int, places: Sequence[int]) -> TrainingExample:
        items = [self.items[member][p] for p in places]
        return TrainingExample(query=self.queries[member], items=items, answers=[False] * len(items))

    def _scatter(self, margins: Sequence[FloatArray], places: Sequence[Sequence[int]]) -> FloatArray:
        flat = np.full(self.n_pairs, np.nan, np.float32)
        for part, where in zip(margins, places, strict=True):
            flat[list(where)] = part
        return flat


def decide(margins: FloatArray, cut: float) -> npt.NDArray[np.int8]:
    """Return YES where the margin reaches the cut (a tie accepts), NO elsewhere."""
    return (np.asarray(margins, np.float64) >= cut).astype(np.int8)


def decide_with_reference(
    margins: FloatArray, cut: float, *, tie_eps: float, reference: FloatArray
) -> npt.NDArray[np.int8]:
    """Decide pairs within `tie_eps` of the cut by their reference margin, which must be there."""
    is_close = np.abs(np.asarray(margins, np.float64) - cut) <= tie_eps
    assert np.isfinite(reference[is_close]).all()
    return np.where(is_close, decide(np.nan_to_num(reference), cut), decide(margins, cut)).astype(np.int8)
