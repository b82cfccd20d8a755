"""Packed generation in the study: the answers of a slice in an order, g a prompt, decoded greedily."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jobs.study.agreement import NO, NO_ANSWER, YES, Decisions
from jobs.study.models import Base
from jobs.study.slices import Slice
from mis_scoring.evaluation.greedy_decoding import greedy_decode
from mis_scoring.evaluation.order_sensitivity import Order
from mis_scoring.evaluation.packed_generation import (
    QUALIFICATIONS_PER_PROMPT,
    consecutive_lists,
    max_new_tokens,
    read_list,
)

ROWS = 768


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What one order gave.

    Attributes:
        decisions: (n,) in candidate order.
        malformed: lists by reason.
        lengths: (prompt tokens, generated tokens) of each list.
    """

    decisions: Decisions
    malformed: dict[str, int]
    lengths: list[tuple[int, int]]

    @property
    def n_lists(self) -> int:
        """Lists asked for."""
        return len(self.lengths)


class SliceGenerator:
    """Asks for one slice's answers with any decoder of one base."""

    def __init__(self, base: Base, slice_: Slice) -> None:
        self._tokenizer = base.generation_tokenizer
        self._pad_id = base.pad_id
        self._queries = [self._tokenizer.encode_query(m.profile_text) for m in slice_.members]
        self._texts = [[c.text for c in m.candidates] for m in slice_.members]
        self._firsts = np.cumsum([0, *map(len, self._texts)]).tolist()

    def answers(self, decoder: Any, order: Order) -> Generated:
        """Return the decisions, asked for in `order`."""
        lists = [
            (member, places)
            for member, permutation in enumerate(order.places)
            for places in consecutive_lists(permutation)
        ]
        prompts = [self._prompt(member, places) for member, places in lists]
        texts = greedy_decode(
            decoder,
            prompts,
            end_id=self._tokenizer.end_id,
            pad_id=self._pad_id,
            max_new_tokens=max_new_tokens(QUALIFICATIONS_PER_PROMPT, self._tokenizer),
            rows=ROWS,
        )
        decisions = np.full(self._firsts[-1], NO_ANSWER, np.int8)
        malformed: dict[str, int] = {}
        for (member, places), tokens in zip(lists, texts, strict=True):
            parsed = read_list(tokens, len(places), self._tokenizer)
            if parsed.is_malformed:
                malformed[parsed.reason] = malformed.get(parsed.reason, 0) + 1
            for place, answer in zip(places, parsed.answers, strict=True):
                if answer is not None:
                    decisions[self._firsts[member] + place] = YES if answer else NO
        lengths = [(len(p), len(t)) for p, t in zip(prompts, texts, strict=True)]
        return Generated(decisions=decisions, malformed=malformed, lengths=lengths)

    def _prompt(self, member: int, places: list[int]) -> list[int]:
        texts = [self._texts[member][place] for place in places]
        return [*self._queries[member], *self._tokenizer.encode_list(texts)]
