"""A tokenizer in a process of its own: `python -m mis_scoring.serving.tokenizer_host SPEC ANSWERS`.

The same encoder as the batch stage's, from the same spec. What it refuses names places, never texts.
"""

import sys
from typing import Any

from mis_scoring.core.errors import PromptError
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving.host_loop import Message, run_host


class TokenizerHost:
    """Encodes the query and the items of a request, apart."""

    n_concurrent = 1

    def __init__(self, spec: ScoreSpec) -> None:
        self._tokenizer = spec.tokenizer()

    def ready(self) -> Message:
        """Say nothing more."""
        return {}

    def answer(self, request: Message) -> Message:
        """Return `query` and `items` as token ids, with every fault."""
        return encode(self._tokenizer, request["query"], request["items"])


def encode(tokenizer: PromptTokenizer, query: str | None, items: list[str]) -> dict[str, Any]:
    """Return token ids, and one sentence a text that has none.

    Args:
        query: None where it was encoded before.
    Returns:
        query: its ids, empty where it has none. items: the same, aligned. faults.
    """
    faults: list[str] = []
    layout = tokenizer.layout

    def ids(name: str, text: str, inner: Any, encoder: Any) -> list[int]:
        try:
            if inner(text).strip():
                return list(encoder(text))
            faults.append(f"{name} is empty")
        except PromptError as error:
            faults.append(f"{name} is empty" if not text.strip() else f"{name}: {error}")
        return []

    query_ids = [] if query is None else ids("the query", query, layout.profile_of, tokenizer.encode_query)
    item_ids = [
        ids(f"item {row}", text, layout.qualification_of, tokenizer.encode_item) for row, text in enumerate(items)
    ]
    return {"query": query_ids, "items": item_ids, "faults": faults}


if __name__ == "__main__":
    run_host(lambda: TokenizerHost(ScoreSpec.from_json(sys.argv[1])), int(sys.argv[2]))
