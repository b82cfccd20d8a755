"""What is wrong between a prompt layout, its answers and a tokenizer: one sentence a fault, all of them.

A fault here costs quality silently later on: a text that can speak for the template, an answer whose second token is
never looked at, an item that reads differently behind another query.
"""

import re
from collections.abc import Iterable, Iterator

from mis_scoring.core.awkward_texts import AWKWARD_TEXTS, texts_that_spell
from mis_scoring.core.errors import PromptError
from mis_scoring.core.tokenizer import PromptTokenizer

N_SPECIAL_TOKENS = 8  # in the split check, which grows with the square of its texts
N_LISTED = 20
USUAL_ANSWERS = ("Yes", "No")
_MARKER = re.compile(r"<\|[^<>|]*\|>")


def template_faults(tokenizer: PromptTokenizer) -> Iterator[str]:
    """Yield what is wrong with the fixed text of a layout."""
    layout, special = tokenizer.layout, tokenizer.special_tokens
    # The suffix of a compact layout has a check of its own below.
    for name in ("query_prefix", "item_suffix")[: 1 if layout.name == "compact" else 2]:
        unknown = [m for m in dict.fromkeys(_MARKER.findall(getattr(layout, name))) if m not in special]
        if unknown:
            yield f"{name}: {_listed(unknown)} is no special token of this tokenizer; it has {_listed(special)}"
    for name in ("query_suffix", "item_prefix"):
        spelled = [token for token in special if token in getattr(layout, name)]
        if spelled:
            yield f"{name}: {_listed(spelled)} would be read as plain text there; move it to the other end"
    if not layout.item_suffix:
        yield "item_suffix is empty: the answer would be joined with the qualification"
    if layout.name == "compact" and layout.item_suffix not in special:
        yield (
            f"item_suffix: the readout of a compact layout is one existing special token, not {layout.item_suffix!r}; "
            f"there are {_listed(special)}"
        )


def answer_faults(tokenizer: PromptTokenizer, answers: tuple[str, str]) -> Iterator[str]:
    """Yield what is wrong with the answers: each one token at the answer position, the same as alone, and two."""
    found = []
    for answer in answers:
        try:
            ids = tokenizer.answer_ids(answer)
        except PromptError as error:
            yield f"{error}: end the layout with a token of its own"
            continue
        alone = tokenizer.text_ids(answer)
        if len(ids) != 1:
            yield (
                f"answer {answer!r} is {len(ids)} tokens at the answer position, one is needed; single tokens: "
                f"{_listed(_usable(tokenizer, answer))}"
            )
        elif ids != alone:
            yield f"answer {answer!r} is token {ids[0]} at the answer position and {alone} on its own"
        elif ids[0] in tokenizer.special_tokens.values():
            yield f"answer {answer!r} is a special token"
        found += [ids]
    if len(found) == 2 and found[0] == found[1]:
        yield f"both answers, {answers[0]!r} and {answers[1]!r}, are token {found[0]}"


def split_faults(tokenizer: PromptTokenizer) -> Iterator[str]:
    """Yield whether query and item, tokenized apart, are other tokens than together, on the awkward texts.

    The border of template and profile is no part of this: it is fixed, so that a profile can't change the template.
    """
    texts = [*AWKWARD_TEXTS, *texts_that_spell(list(tokenizer.special_tokens)[:N_SPECIAL_TOKENS])]
    wrong = list(tokenizer.wrong_splits(texts, texts))
    if wrong:
        profile, qualification = min(wrong, key=lambda pair: len(pair[0]) + len(pair[1]))
        yield (
            f"query and item tokenize apart otherwise than together for {len(wrong)} of {len(texts) ** 2} awkward "
            f"pairs, as profile {profile!r} with qualification {qualification!r}: end the query with a sign (as in "
            "'Qualification:') and start the item with one blank"
        )


def inert_faults(tokenizer: PromptTokenizer) -> Iterator[str]:
    """Yield the special tokens that a profile or a qualification could say."""
    special, layout = tokenizer.special_tokens, tokenizer.layout
    ids = set(special.values())
    n_prefix, n_suffix = (len(tokenizer.template_ids(text)) for text in (layout.query_prefix, layout.item_suffix))
    meant = []
    for token in special:
        for text in texts_that_spell([token]):
            query = tokenizer.encode_query(layout.render_query(text))[n_prefix:]
            item = tokenizer.encode_item(layout.render_item(text))
            if not ids.isdisjoint([*query, *item[: len(item) - n_suffix]]):
                meant.append(token)
    if meant:
        yield (
            f"a profile that spells {_listed(dict.fromkeys(meant))} would speak for the template: mark it as special "
            "in tokenizer.json, or take a tokenizer in which no merge makes it"
        )


def _usable(tokenizer: PromptTokenizer, answer: str) -> list[str]:
    """Return spellings of an answer that are one token; where there are none, of the usual answers."""
    own, usual = ([f for a in words for f in tokenizer.spellings(a)] for words in ((answer,), USUAL_ANSWERS))
    return [f for f in own if _is_single(tokenizer, f)] or [f for f in usual if _is_single(tokenizer, f)]


def _is_single(tokenizer: PromptTokenizer, answer: str) -> bool:
    try:
        return len(tokenizer.answer_ids(answer)) == 1
    except PromptError:
        return False


def _listed(tokens: Iterable[str]) -> str:
    every = [repr(token) for token in tokens]
    more = f" and {len(every) - N_LISTED} more" if len(every) > N_LISTED else ""
    return (", ".join(every[:N_LISTED]) or "none") + more
