"""Render the pages under `jobs/pages`: HTML escapes what it is given, Markdown does not."""

from pathlib import Path
from typing import Any

from jobs.labeler.shown import shown, shown_limit

_FOLDER = Path(__file__).parent / "pages"
_NOTHING = "–"  # noqa: RUF001


def render_page(template: str, **values: Any) -> str:
    """Return a template filled in; a value that it names and does not get is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    pages = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=select_autoescape(enabled_extensions=("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters.update(number=_number, percent=_percent, count=_count, short=shown, limit=shown_limit)
    return pages.get_template(template).render(**values)


def _number(value: float | None, digits: int = 3) -> str:
    return _NOTHING if value is None else f"{value:,.{digits}f}"


def _percent(value: float | None, digits: int = 2) -> str:
    return _NOTHING if value is None else f"{100.0 * value:.{digits}f}%"


def _count(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.0f}"
