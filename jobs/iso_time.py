"""A time as a person types it."""

from datetime import UTC, datetime


def time_of(text: str) -> datetime:
    """Parse ISO 8601; a text without a time zone is read as UTC.

    Raises:
        ValueError: it is no such time.
    """
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
