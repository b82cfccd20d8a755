"""The prompts of the study: for each base the single-item layout and the packed-generation prompt, alike in words."""

from dataclasses import dataclass

from mis_scoring.core.prompt import COMPACT, PromptLayout
from mis_scoring.evaluation.generation_prompt import GenerationPrompt

_RULE = (
    "A profile supports a qualification when it states it or states what plainly implies it. "
    "What is missing, ambiguous, lapsed or only wished for is no support."
)
_CHAT_START = "<|im_start|>user\n"
_CHAT_END = "<|im_end|>\n<|im_start|>assistant\n"


@dataclass(frozen=True, kw_only=True)
class StudyPrompts:
    """What both methods send to one base.

    Attributes:
        pad_token: fills rows; masked.
    """

    layout: PromptLayout
    generation: GenerationPrompt
    answers: tuple[str, str]
    pad_token: str


SMOLLM2_CHAT = PromptLayout(
    name="chat",
    query_prefix=f"{_CHAT_START}Does the profile support the qualification? {_RULE} Answer Yes or No.\n\nProfile:\n",
    query_suffix="\nQualification:",
    item_prefix=" ",
    item_suffix=_CHAT_END,
)
SMOLLM2 = StudyPrompts(
    layout=SMOLLM2_CHAT,
    generation=GenerationPrompt(
        query_prefix=f"{_CHAT_START}Which of the numbered qualifications does the profile support? {_RULE} "
        "Answer with a list of Yes or No, in order, separated by commas.\n\nProfile:\n",
        query_suffix="\nQualifications:",
        list_suffix=_CHAT_END,
        answers=("Yes", "No"),
        separator=", ",
        end_token="<|im_end|>",
    ),
    answers=("Yes", "No"),
    pad_token="<|endoftext|>",
)
SMALL = StudyPrompts(
    layout=COMPACT,
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
