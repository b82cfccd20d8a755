"""Token ids of rendered prompts: template and free text apart, so that a special token in a text is inert.

Tokenizing the query and the item apart must give the tokens of both together (paper, section 3.1); `check_split` proves
it on given texts when an artifact is made.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from mis_scoring.core.errors import PromptError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.tokenizer_file import TokenizerFile


class PromptTokenizer:
    """A tokenizer.json with one prompt layout."""

    def __init__(self, tokenizer_json: Path, layout: PromptLayout) -> None:
        self.layout = layout
        self._file = TokenizerFile(tokenizer_json)
        self._query_prefix = self.template_ids(layout.query_prefix)
        self._item_suffix = self.template_ids(layout.item_suffix)

    @property
    def item_suffix(self) -> list[int]:
        """The ids that every item ends with."""
        return list(self._item_suffix)

    def encode_query(self, query_text: str) -> list[int]:
        """Return the token ids of a rendered query.

        Raises:
            PromptError: the text was rendered by another layout.
        """
        profile_text = self.layout.profile_of(query_text)
        return self._query_prefix + self.text_ids(profile_text + self.layout.query_suffix)

    def encode_item(self, item_text: str) -> list[int]:
        """Return the token ids of a rendered item, ending at the answer position.

        Raises:
            PromptError: the text was rendered by another layout.
        """
        qualification_text = self.layout.qualification_of(item_text)
        return self.text_ids(self.layout.item_prefix + qualification_text) + self._item_suffix

    def label_tokens(self, yes: str, no: str) -> LabelTokens:
        """Return the ids of the answer strings.

        Raises:
            PromptError: an answer is not one token; names single-token alternatives.
        """
        return LabelTokens(yes=self._single(yes), no=self._single(no))

    def answer_ids(self, answer: str) -> list[int]:
        """Return the tokens of an answer at the answer position, behind the item's suffix.

        Raises:
            PromptError: the tokenizer would join the answer with the suffix.
        """
        suffix = self.layout.item_suffix
        together = self.template_ids(suffix + answer)
        n_suffix = len(self._item_suffix)
        if not self._item_suffix or together[:n_suffix] != self._item_suffix:
            raise PromptError(f"answer {answer!r} is joined with what stands before it, {suffix!r}")
        return together[n_suffix:]

    def spellings(self, answer: str) -> list[str]:
        """Return the spellings of an answer that are one token each."""
        word = answer.strip()
        forms = (word.upper(), word.lower(), word.capitalize())
        every = (*forms, *(f" {form}" for form in reversed(forms)))
        return [form for form in dict.fromkeys(every) if len(self.text_ids(form)) == 1]

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """What a text must not be able to say, with its id: special tokens, and added ones that the template uses."""
        template = {*self._query_prefix, *self._item_suffix}
        added = self._file.added_tokens.items()
        return {token.content: i for i, token in added if token.special or i in template}

    def text_ids(self, text: str) -> list[int]:
        """Return the token ids of a free text on its own."""
        return self._file.text_ids(text)

    def template_ids(self, text: str) -> list[int]:
        """Return the token ids of a piece of template on its own; special tokens are meant."""
        return self._file.template_ids(text)

    def text_of(self, token_id: int) -> str:
        """Return what a token stands for; a part of a character is shown as the tokenizer writes it."""
        text = self._file.decode([token_id])
        return text if text and "\ufffd" not in text else self._file.token_of(token_id)

    def check_split(self, profile_texts: Sequence[str], qualification_texts: Sequence[str]) -> None:
        """Prove that query and item tokenize apart as they do together.

        Raises:
            PromptError: names the first pair of texts for which they do not.
        """
        for profile, qualification in self.wrong_splits(profile_texts, qualification_texts):
            raise PromptError(
                f"layout {self.layout.name!r} splits {profile!r} and {qualification!r} where the tokenizer "
                "would join: end the query and start the item at a word boundary"
            )

    def wrong_splits(
        self, profile_texts: Sequence[str], qualification_texts: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the pairs of texts whose query and item tokenize apart otherwise than together."""
        items = {text: self.encode_item(self.layout.render_item(text)) for text in qualification_texts}
        for profile in profile_texts:
            query = self.encode_query(self.layout.render_query(profile))
            for qualification, item in items.items():
                if query + item != self._encode_joint(profile, qualification):
                    yield profile, qualification

    def _encode_joint(self, profile: str, qualification: str) -> list[int]:
        text = profile + self.layout.query_suffix + self.layout.item_prefix + qualification
        return self._query_prefix + self.text_ids(text) + self._item_suffix

    def _single(self, answer: str) -> int:
        ids = self.text_ids(answer)
        if len(ids) != 1:
            single = self.spellings(answer)
            raise PromptError(f"answer {answer!r} is {len(ids)} tokens, one is needed; single tokens: {single}")
        return int(ids[0])
