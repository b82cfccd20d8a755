"""Which rows of `profiles` and `catalog` can be used: `jobs.inputs` says the same as columns; a test compares."""

import unicodedata

_WORD_CLASSES = ("L", "N", "S")  # letters, numbers, symbols


def holds_no_text(text: str | None) -> bool:
    """Whether nothing in a text could be read: no letter, no number, no symbol."""
    return text is None or not any(unicodedata.category(character)[0] in _WORD_CLASSES for character in text)


def fault_of(key: str, value: str | None, text_column: str, text: str | None, *, n_rows: int) -> str | None:
    """Return why a row can't be used, the first reason that holds; None where it can.

    Args:
        key, value: the key column and what it holds.
        n_rows: rows with this key.
    """
    if is_blank(value):
        return f"no {key}"
    if n_rows > 1:
        return f"several rows with this {key}"
    if text is None:
        return f"{text_column} is null"
    return f"{text_column} holds no text" if holds_no_text(text) else None


def is_blank(value: str | None) -> bool:
    """Whether a key names nothing; SQL's trim takes blanks alone away."""
    return value is None or value.strip(" ") == ""
