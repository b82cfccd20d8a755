"""How a model in training does on validation members, and when it is saved."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.judgement import Cuts, judge, scored_pairs
from mis_scoring.evaluation.members import EvaluationMember
from mis_scoring.training.checkpoints import Position, save_model, save_state
from mis_scoring.training.examples import TrainingExample
from mis_scoring.training.pair_scoring import margins_of

LOG = logging.getLogger(__name__)
SAVE_EVERY_S = 60.0


def to_example(tokenizer: PromptTokenizer, member: EvaluationMember) -> TrainingExample:
    """Tokenize an evaluation member with all its candidates; the answers are not used."""
    return TrainingExample(
        query=tokenizer.encode_query(COMPACT.render_query(member.profile_text)),
        items=[tokenizer.encode_item(COMPACT.render_item(c.text)) for c in member.candidates],
        answers=[False] * len(member.candidates),
    )


@dataclass(kw_only=True)
class TrainingWatch:
    """Saves the model (and, given a folder, the state) once a minute, and says how it does.

    Attributes:
        members: validation members; the cut is chosen on them too, so the figure is a little optimistic.
    """

    decoder: Any
    optimizer: Any
    tokenizer: PromptTokenizer
    labels: LabelTokens
    pad_id: int
    members: list[EvaluationMember]
    model_dir: Path
    state_dir: Path | None
    saved_at_s: float = 0.0

    def on_step(self, position: Position) -> None:
        """Save and judge when a minute has passed."""
        if position.elapsed_s - self.saved_at_s >= SAVE_EVERY_S:
            self.saved_at_s = position.elapsed_s
            self.save(position)
            LOG.info("saved at step %s; %s", position.step, self.figures())

    def save(self, position: Position) -> None:
        """Write the model, and the state to go on from."""
        save_model(self.decoder, self.model_dir / "tokenizer.json", self.model_dir)
        if self.state_dir:
            save_state(self.state_dir, self.decoder, self.optimizer, position)

    def figures(self) -> str:
        """Return precision, recall and F1, overall and by category."""
        examples = [to_example(self.tokenizer, member) for member in self.members]
        margins = margins_of(self.decoder, examples, yes_id=self.labels.yes, no_id=self.labels.no, pad_id=self.pad_id)
        pairs = scored_pairs(self.members, margins)
        cuts = Cuts.choose(pairs)
        figures: Any = judge(pairs, cuts)
        f1 = {name: part["f1"] for name, part in figures["by_category"].items()}
        return f"validation {figures['labeler']} by category {f1} cut {cuts.margin:.2f}"
