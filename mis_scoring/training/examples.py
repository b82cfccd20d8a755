"""A training example: one query, its items, their answers; and how an example of many items is one of single items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TrainingExample:
    """Token ids of one query and of its items, and which items the query supports.

    The pairs are independent: packing them under the MIS mask or giving each its own copy of the query is the same
    objective (`split_items`), and much cheaper.
    """

    query: Sequence[int]
    items: Sequence[Sequence[int]]
    answers: Sequence[bool]

    def __post_init__(self) -> None:
        """Refuse pairs that do not match, and empty texts."""
        if len(self.items) != len(self.answers) or not self.items:
            raise ValueError(f"{len(self.items)} items and {len(self.answers)} answers: want as many, at least one")
        if not self.query or not all(self.items):
            raise ValueError("a query and each item need at least one token")

    @property
    def n_tokens(self) -> int:
        """Length when packed."""
        return len(self.query) + sum(map(len, self.items))


def split_items(example: TrainingExample, *, items_per_example: int) -> Iterator[TrainingExample]:
    """Yield examples of at most that many items each, in order; 1 gives single-item prompts."""
    if items_per_example < 1:
        raise ValueError(f"items_per_example is {items_per_example}: want at least 1")
    for start in range(0, len(example.items), items_per_example):
        part = slice(start, start + items_per_example)
        yield TrainingExample(query=example.query, items=example.items[part], answers=example.answers[part])
