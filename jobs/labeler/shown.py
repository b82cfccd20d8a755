"""How values of any kind are shown to a person, on a terminal and on a page."""

from typing import Any

UNKNOWN = "-"
SHORT_ID = 12
_LONG_WORD = 40  # a digest, not a sentence


def shown(value: Any) -> str:
    """Return a value in few characters: six digits of a fraction, thousands apart, the start of a digest."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = UNKNOWN if value is None else str(value)
    return f"{text[:SHORT_ID]}..." if len(text) > _LONG_WORD and " " not in text else text


def shown_limit(limit: str) -> str:
    """Return a limit, such as `== DIGEST`, in few characters."""
    sense, _, value = limit.partition(" ")
    return f"{sense} {shown(value)}"
