"""Token ids: of a text, and of the answers that are read out."""

from collections.abc import Sequence
from dataclasses import dataclass

TokenIds = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class LabelTokens:
    """The two answer tokens of this labeler, each a single token at the answer position."""

    yes: int
    no: int

    @property
    def ids(self) -> tuple[int, int]:
        """Columns of label logits: YES, NO."""
        return (self.yes, self.no)
