"""What every page shares: its frame, its links (which hold ids only), and how it says that something went wrong."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse

from jobs.page_templates import render_page


def link(request: Request, page: str, /, **query: Any) -> str:
    """Return the address of a page of this app, wherever it is mounted; a value that is None is left out.

    Ids stand in the query, not in the path: a qualification's may hold a slash.
    """
    base = request.scope.get("root_path", "").rstrip("/")
    told = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{base}/{page}?{told}" if told else f"{base}/{page}"


def show(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page; `link` and `typed`, what stands in the search field, are known in every template."""
    frame = {"link": partial(link, request), "typed": "", "here": ""}
    return HTMLResponse(render_page(f"{template}.html.j2", **(frame | values)), status)


def show_error(request: Request, status: int, told: str, *, headers: Mapping[str, str] | None = None) -> HTMLResponse:
    """Return a page that says what is wrong, with a way to log in where that is what is missing."""
    login = getattr(request.app.state, "login_page", "") if status == HTTPStatus.UNAUTHORIZED else ""
    page = show(
        request,
        "error",
        status=status,
        title=HTTPStatus(status).phrase,
        told=told,
        login=link(request, login, next=address_of(request)) if login else "",
    )
    page.headers.update(headers or {})
    return page


def address_of(request: Request) -> str:
    """Return the path and query that were asked for, as a browser names them."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
