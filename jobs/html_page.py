"""Render a page of `jobs/pages`: one HTML file without outside resources; every value is escaped."""

from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "pages"
_NONE = "–"  # noqa: RUF001


def render_page(template: str, **values: Any) -> str:
    """Return a page; a value that the template names and nobody gave is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    pages.filters |= {"number": _number, "percent": _percent, "count": _count}
    return pages.get_template(template).render(**values)


def _number(value: float | None, digits: int = 3) -> str:
    return _NONE if value is None else f"{value:,.{digits}f}"


def _percent(value: float | None, digits: int = 2) -> str:
    return _NONE if value is None else f"{100.0 * value:.{digits}f}%"


def _count(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f}"
