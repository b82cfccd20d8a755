"""Score evaluation members as the product does: the labeler's own prompt, an engine, rounds of N candidates.

On the CPU engines only: the figures of an artifact are those of what serves it. Where the slices are large, a small
model takes minutes and one of 135 million parameters hours.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jobs.errors import FaultsError
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.readout import FloatArray, margins
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.label_cost import LabelCost
from mis_scoring.evaluation.members import EvaluationMember

LOG = logging.getLogger(__name__)
_SAY_EVERY = 50  # members
_MOST_FAULTS = 20  # named one by one; the others are counted
Request = tuple[list[int], list[list[int]]]


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

    def request(self, profile_text: str, texts: Sequence[str]) -> Request:
        """Return the query and the items of one request."""
        layout, tokenizer = self.tokenizer.layout, self.tokenizer
        query = tokenizer.encode_query(layout.render_query(profile_text))
        return query, [tokenizer.encode_item(layout.render_item(text)) for text in texts]

    def rounds(self, member: EvaluationMember, *, candidates_per_round: int) -> Iterator[Request]:
        """Yield the requests of a member's candidates in rank order."""
        texts = [candidate.text for candidate in member.candidates]
        query, items = self.request(member.profile_text, texts)
        for start in range(0, len(items), candidates_per_round):
            yield query, items[start : start + candidates_per_round]


@dataclass(frozen=True, kw_only=True)
class LabelerScorer:
    """A prompt with an engine."""

    prompt: LabelerPrompt
    engine: Engine
    candidates_per_round: int

    def together(self, profile_text: str, texts: Sequence[str]) -> FloatArray:
        """Return the margins of texts in one request."""
        return self._margins(*self.prompt.request(profile_text, texts))

    def score(self, members: Sequence[EvaluationMember], *, what: str) -> tuple[list[FloatArray], LabelCost]:
        """Return one array a member, in candidate order, and what it took.

        Args:
            what: named in the log.
        """
        cost, found = LabelCost(), []
        for number, member in enumerate(members):
            found.append(self._score_member(member, cost))
            if number % _SAY_EVERY == _SAY_EVERY - 1:
                LOG.info("%s: %d of %d members", what, number + 1, len(members))
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

    def _score_member(self, member: EvaluationMember, cost: LabelCost) -> FloatArray:
        parts = [np.zeros(0, np.float32)]
        for query, items in self.prompt.rounds(member, candidates_per_round=self.candidates_per_round):
            began = time.monotonic()
            parts.append(self._margins(query, items))
            cost.add(len(query), [len(item) for item in items], time.monotonic() - began)
        return np.concatenate(parts)

    def _margins(self, query: list[int], items: list[list[int]]) -> FloatArray:
        return margins(self.engine.label_logits(query, items, self.prompt.label_tokens))


def contract_of(artifact: LabelerArtifact) -> PromptContract:
    """Return the prompt contract that an artifact carries."""
    return PromptContract(layout=artifact.prompt, answers=(artifact.label_tokens["yes"], artifact.label_tokens["no"]))
