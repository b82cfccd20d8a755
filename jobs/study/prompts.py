"""The prompts of the study: for each base the single-item layout and the packed-generation prompt, alike in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from mis_scoring.core.layouts import chat_layout, compact_layout
from mis_scoring.core.prompt import COMPACT, PromptLayout
from mis_scoring.evaluation.generation_prompt import GenerationPrompt

_RULE = (
    "A profile supports a qualification when it states it or states what plainly implies it. "
    "What is missing, ambiguous, lapsed or only wished for is no support."
)
_INSTRUCTIONS = f"Does the profile support the qualification? {_RULE} Answer Yes or No."
_LIST_INSTRUCTIONS = (
    f"Which of the numbered qualifications does the profile support? {_RULE} "
    "Answer with a list of Yes or No, in order, separated by commas."
)


@dataclass(frozen=True, kw_only=True)
class StudyPrompts:
    """What both methods send to one base.

    Attributes:
        layouts: of single-item prompts, by name.
        pad_token: fills rows; masked.
    """

    layouts: Mapping[str, PromptLayout]
    generation: GenerationPrompt
    answers: tuple[str, str]
    pad_token: str


_CHAT, _LIST_CHAT = chat_layout(_INSTRUCTIONS), chat_layout(_LIST_INSTRUCTIONS)
SMOLLM2 = StudyPrompts(
    layouts={"chat": _CHAT, "compact": compact_layout("<empty_output>", _INSTRUCTIONS)},
    generation=GenerationPrompt(
        query_prefix=_LIST_CHAT.query_prefix,
        query_suffix="\nQualifications:",
        list_suffix=_LIST_CHAT.item_suffix,
        answers=("Yes", "No"),
        separator=", ",
        end_token="<|im_end|>",
    ),
    answers=("Yes", "No"),
    pad_token="<|endoftext|>",
)
SMALL = StudyPrompts(
    layouts={"compact": COMPACT},
    generation=GenerationPrompt(
        query_prefix="Profile:\n",
        query_suffix="\nQualifications:",
        list_suffix="\n<|readout|>",
        answers=("YES", "NO"),
        separator=", ",
        end_token="<|unused1|>",
    ),
    answers=("YES", "NO"),
    pad_token="<|pad|>",
)
