"""Members as training examples: tokenized by the prompt contract, unknown pairs left out, too long ones named.

Token ids of all members are in memory, an item's once for all members: some 30 bytes a profile token.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.members import SUPPORTED, UNKNOWN, EvaluationMember
from mis_scoring.training.examples import TrainingExample


@dataclass(frozen=True, kw_only=True)
class PairExamples:
    """Members with decided pairs, and an example of each, in the same order.

    Attributes:
        too_long: members left out, by id, with the tokens of their longest pair.
    """

    members: Sequence[EvaluationMember]
    examples: Sequence[TrainingExample]
    too_long: dict[str, int]


def pair_examples(members: Sequence[EvaluationMember], tokenizer: PromptTokenizer, *, max_tokens: int) -> PairExamples:
    """Tokenize members; one whose query and longest item together pass `max_tokens` is left out and named."""
    items: dict[str, list[int]] = {}
    kept, examples, too_long = [], [], dict[str, int]()
    for member in map(_decided, members):
        if not member.candidates:
            continue
        for text in (c.text for c in member.candidates):
            if text not in items:
                items[text] = tokenizer.encode_item(tokenizer.layout.render_item(text))
        example = TrainingExample(
            query=tokenizer.encode_query(tokenizer.layout.render_query(member.profile_text)),
            items=[items[c.text] for c in member.candidates],
            answers=[c.answer == SUPPORTED for c in member.candidates],
        )
        longest = len(example.query) + max(map(len, example.items))
        if longest > max_tokens:
            too_long[member.member_id] = longest
        else:
            kept.append(member)
            examples.append(example)
    return PairExamples(members=kept, examples=examples, too_long=too_long)


def _decided(member: EvaluationMember) -> EvaluationMember:
    return replace(member, candidates=[c for c in member.candidates if c.answer != UNKNOWN])
