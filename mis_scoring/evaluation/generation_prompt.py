"""The prompt of packed generation: one profile, a numbered list of qualifications, one answer list.

A baseline to measure semantic scoring against (arXiv 2610.36383, section 2.4); no labeler is served this way. Only the
template holds special tokens: a profile or a qualification that spells one is inert.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mis_scoring.core.errors import PromptError
from mis_scoring.core.tokenizer_file import TokenizerFile


@dataclass(frozen=True, kw_only=True)
class GenerationPrompt:
    """Fixed text around a profile, its numbered qualifications and the answers.

    Attributes:
        list_suffix: ends the prompt; the answer list follows it.
        answers: the strings for supported and unsupported.
        separator: between two answers.
        end_token: one special token, which ends the answer list.
    """

    query_prefix: str
    query_suffix: str
    list_suffix: str
    answers: tuple[str, str]
    separator: str
    end_token: str

    def render_list(self, qualifications: Sequence[str]) -> str:
        """Return the numbered qualifications, a line each."""
        return "".join(f"\n{number}. {text}" for number, text in enumerate(qualifications, start=1))

    def render_answers(self, answers: Sequence[bool]) -> str:
        """Return the answer list without its end, as `YES, NO, YES`."""
        return self.separator.join(self.answers[0 if answer else 1] for answer in answers)


class GenerationTokenizer:
    """A tokenizer.json with one generation prompt."""

    def __init__(self, tokenizer_json: Path, prompt: GenerationPrompt) -> None:
        self.prompt = prompt
        self._file = TokenizerFile(tokenizer_json)
        self._query_prefix = self._file.template_ids(prompt.query_prefix)
        self._list_suffix = self._file.template_ids(prompt.list_suffix)
        end_id = self._file.id_of(prompt.end_token)
        if end_id is None:
            raise PromptError(f"end_token {prompt.end_token!r} is not one token of {tokenizer_json}: name one that is")
        self.end_id = end_id

    def encode_query(self, profile_text: str) -> list[int]:
        """Return the token ids before the numbered list: instructions and profile."""
        return self._query_prefix + self._file.text_ids(profile_text + self.prompt.query_suffix)

    def encode_list(self, qualifications: Sequence[str]) -> list[int]:
        """Return the token ids of the numbered list, up to the answer position."""
        return self._file.text_ids(self.prompt.render_list(qualifications)) + self._list_suffix

    def encode_answers(self, answers: Sequence[bool]) -> list[int]:
        """Return the token ids of the answer list and its end."""
        return [*self._file.text_ids(self.prompt.render_answers(answers)), self.end_id]

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of generated tokens, special ones spelled out."""
        return self._file.decode(token_ids)
