"""A tokenizer.json read two ways: as template, where a special token is meant, and as free text, where it is inert."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class TokenizerFile:
    """Token ids of template and of free text; neither adds a token of its own."""

    def __init__(self, tokenizer_json: Path) -> None:
        from tokenizers import Tokenizer

        self._template = Tokenizer.from_file(str(tokenizer_json))
        self._text = Tokenizer.from_file(str(tokenizer_json))
        self._text.encode_special_tokens = True  # in free text a special token is spelled, not meant

    def template_ids(self, text: str) -> list[int]:
        """Return the token ids of a piece of template on its own."""
        return list(self._template.encode(text, add_special_tokens=False).ids)

    def text_ids(self, text: str) -> list[int]:
        """Return the token ids of a free text on its own."""
        return list(self._text.encode(text, add_special_tokens=False).ids)

    def id_of(self, token: str) -> int | None:
        """Return the id of one token as the file spells it; None where it has no such token."""
        found = self._template.token_to_id(token)
        return None if found is None else int(found)

    def token_of(self, token_id: int) -> str:
        """Return a token as the file spells it."""
        return str(self._template.id_to_token(token_id))

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of tokens, special ones spelled out."""
        return str(self._template.decode(list(token_ids), skip_special_tokens=False))

    @property
    def added_tokens(self) -> Mapping[int, Any]:
        """What the file adds to its vocabulary (`tokenizers.AddedToken`), by id."""
        return dict(sorted(self._template.get_added_tokens_decoder().items()))
