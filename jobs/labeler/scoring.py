"""Score evaluation members as the product does: the labeler's own prompt, an engine, groups of candidates.

The figures of an artifact are those of what serves it. On the CPU engines a small model takes minutes where the slices
are large, and one of 135 million parameters hours.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jobs.errors import FaultsError
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.readout import FloatArray, margins
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.label_cost import LabelCost
from mis_scoring.evaluation.members import EvaluationMember

_MOST_FAULTS = 20  # named one by one; the others are counted
TokenizedRequest = tuple[list[int], list[list[int]]]


@dataclass(frozen=True, kw_only=True)
class LabelerPrompt:
    """What turns texts into token ids: one labeler's tokenizer with its contract."""

    tokenizer: PromptTokenizer
    label_tokens: LabelTokens

    @classmethod
    def of(cls, folder: Path, contract: PromptContract) -> "LabelerPrompt":
        """Load the tokenizer of a folder.

        Raises:
            PromptError: an answer is not one token.
        """
        tokenizer = PromptTokenizer(folder / "tokenizer.json", contract.layout)
        return cls(tokenizer=tokenizer, label_tokens=tokenizer.label_tokens(*contract.answers))

    def request(self, profile_text: str, texts: Sequence[str]) -> TokenizedRequest:
        """Return the query and the items of one request."""
        layout, tokenizer = self.tokenizer.layout, self.tokenizer
        query = tokenizer.encode_query(layout.render_query(profile_text))
        return query, [tokenizer.encode_item(layout.render_item(text)) for text in texts]


@dataclass(frozen=True, kw_only=True)
class LabelerScorer:
    """A prompt with an engine."""

    prompt: LabelerPrompt
    engine: Engine

    def together(self, profile_text: str, texts: Sequence[str]) -> FloatArray:
        """Return the margins of texts in one request."""
        return self._margins(*self.prompt.request(profile_text, texts))

    def in_groups(
        self, member: EvaluationMember, places: Sequence[int], group_size: int
    ) -> tuple[FloatArray, LabelCost]:
        """Score a member's candidates as `places` orders them, `group_size` a request.

        Returns:
            (n_candidates,) margins in the member's own order, and what it took.
        """
        query, items = self.prompt.request(member.profile_text, [c.text for c in member.candidates])
        found, cost = np.full(len(items), np.nan, np.float32), LabelCost()
        for start in range(0, len(places), group_size):
            group = list(places[start : start + group_size])
            asked = [items[place] for place in group]
            began = time.monotonic()
            found[group] = self._margins(query, asked)
            cost.add(len(query), [len(item) for item in asked], time.monotonic() - began)
        return found, cost

    def require_fit(self, members: Sequence[EvaluationMember], *, where: str) -> None:
        """Refuse members whose prompts the model cannot take.

        Raises:
            FaultsError: names each of them, up to twenty.
        """
        faults = []
        for member in members:
            query, items = self.prompt.request(member.profile_text, [c.text for c in member.candidates])
            longest = len(query) + max(map(len, items), default=0)
            if longest > self.engine.max_tokens:
                faults.append(f"member {member.member_id}: {longest} tokens, the model takes {self.engine.max_tokens}")
        if faults:
            left = len(faults) - _MOST_FAULTS
            raise FaultsError(where, faults[:_MOST_FAULTS] + ([f"and {left} members more"] if left > 0 else []))

    def _margins(self, query: list[int], items: list[list[int]]) -> FloatArray:
        return margins(self.engine.label_logits(query, items, self.prompt.label_tokens))
