"""Token ids of rendered prompts: template and free text apart, so that a special token in a text is inert.

Tokenizing the query and the item apart must give the tokens of both together (paper, section 3.1); `check_split` proves
it on given texts when an artifact is made.
"""

from collections.abc import Sequence
from pathlib import Path

from mis_scoring.core.errors import PromptError
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.prompt import PromptLayout


class PromptTokenizer:
    """A tokenizer.json with one prompt layout."""

    def __init__(self, tokenizer_json: Path, layout: PromptLayout) -> None:
        from tokenizers import Tokenizer

        self.layout = layout
        self._template = Tokenizer.from_file(str(tokenizer_json))
        self._text = Tokenizer.from_file(str(tokenizer_json))
        self._text.encode_special_tokens = True  # in free text a special token is spelled, not meant
        self._query_prefix = self._encode_template(layout.query_prefix)
        self._item_suffix = self._encode_template(layout.item_suffix)

    def encode_query(self, query_text: str) -> list[int]:
        """Return the token ids of a rendered query.

        Raises:
            PromptError: the text was rendered by another layout.
        """
        profile_text = self.layout.profile_of(query_text)
        return self._query_prefix + self._encode_text(profile_text + self.layout.query_suffix)

    def encode_item(self, item_text: str) -> list[int]:
        """Return the token ids of a rendered item, ending at the answer position.

        Raises:
            PromptError: the text was rendered by another layout.
        """
        qualification_text = self.layout.qualification_of(item_text)
        return self._encode_text(self.layout.item_prefix + qualification_text) + self._item_suffix

    def label_tokens(self, yes: str, no: str) -> LabelTokens:
        """Return the ids of the answer strings.

        Raises:
            PromptError: an answer is not one token; names single-token alternatives.
        """
        return LabelTokens(yes=self._single(yes), no=self._single(no))

    def check_split(self, profile_texts: Sequence[str], qualification_texts: Sequence[str]) -> None:
        """Prove that query and item tokenize apart as they do together.

        Raises:
            PromptError: names the first pair of texts for which they do not.
        """
        for profile in profile_texts:
            query = self.encode_query(self.layout.render_query(profile))
            for qualification in qualification_texts:
                item = self.encode_item(self.layout.render_item(qualification))
                if query + item != self._encode_joint(profile, qualification):
                    raise PromptError(
                        f"layout {self.layout.name!r} splits {profile!r} and {qualification!r} where the tokenizer "
                        "would join: end the query and start the item at a word boundary"
                    )

    def _encode_joint(self, profile: str, qualification: str) -> list[int]:
        text = profile + self.layout.query_suffix + self.layout.item_prefix + qualification
        return self._query_prefix + self._encode_text(text) + self._item_suffix

    def _encode_text(self, text: str) -> list[int]:
        return list(self._text.encode(text, add_special_tokens=False).ids)

    def _encode_template(self, text: str) -> list[int]:
        return list(self._template.encode(text, add_special_tokens=False).ids)

    def _single(self, answer: str) -> int:
        ids = self._encode_text(answer)
        if len(ids) != 1:
            spellings = (answer.upper(), answer.lower(), answer.capitalize(), f" {answer.capitalize()}")
            single = [s for s in spellings if len(self._encode_text(s)) == 1]
            raise PromptError(f"answer {answer!r} is {len(ids)} tokens, one is needed; single tokens: {single}")
        return int(ids[0])
