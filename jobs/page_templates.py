"""Render the pages of reports and of the auditor: HTML escapes what it is given, Markdown does not."""

from functools import cache
from pathlib import Path
from typing import Any

from jobs.labeler.shown import shown, shown_limit

_FOLDERS = (Path(__file__).parent / "pages", Path(__file__).parent / "web" / "templates")
_NOTHING = "–"  # noqa: RUF001


def render_page(template: str, **values: Any) -> str:
    """Return a template filled in; a value that it names and does not get is an error."""
    return str(_pages().get_template(template).render(**values))


@cache  # a template is compiled once a process
def _pages() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    pages = Environment(
        loader=FileSystemLoader(_FOLDERS),
        autoescape=select_autoescape(enabled_extensions=("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters.update(number=_number, percent=_percent, count=_count, short=shown, limit=shown_limit)
    return pages


def _number(value: float | None, digits: int = 3) -> str:
    return _NOTHING if value is None else f"{value:,.{digits}f}"


def _percent(value: float | None, digits: int = 2) -> str:
    return _NOTHING if value is None else f"{100.0 * value:.{digits}f}%"


def _count(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.0f}"
