"""Who may see the pages of `semlabel web`: whoever has its token, on loopback too, where other users may be.

The link that is printed at the start brings the token once and leaves a cookie, so that no other address holds it; a
program sends it as `Authorization: Bearer TOKEN`.
"""

import secrets
from collections.abc import Callable

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from jobs.errors import MissingRequirementError
from jobs.local.services import secret
from jobs.settings import Settings
from jobs.web.app import create_app
from jobs.web.headers import SecurityHeaders
from jobs.web.pages import style
from jobs.web.shell import link, show

_TOKEN = "web-token"
_LEAST_CHARACTERS = 24
LOGIN = "login"


def login_token(settings: Settings) -> str:
    """Return the token of this home, made on first use.

    Raises:
        MissingRequirementError: its file holds none, or one that can be guessed.
    """
    token = secret(settings, _TOKEN).strip()
    if len(token) < _LEAST_CHARACTERS:
        raise MissingRequirementError(
            f"{settings.deployment / _TOKEN} holds no token of {_LEAST_CHARACTERS} characters or more: delete it, "
            "and a new one is made."
        )
    return token


def create_app_with_login(settings: Settings, expected: str) -> FastAPI:
    """Return the pages behind the token that is expected, with the one page that needs none, and its style."""
    inner = create_app(settings, _guard(expected))
    inner.state.login_page = LOGIN
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.add_middleware(SecurityHeaders)
    app.add_api_route("/style.css", style)

    @app.get(f"/{LOGIN}")
    def log_in_by_link(request: Request, token: str = "", next: str = "") -> Response:
        return _log_in(request, token, next, expected) if token else show(request, LOGIN, next=next, told="")

    @app.post(f"/{LOGIN}")
    async def log_in_by_form(request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=4)
        return _log_in(request, str(form.get("token", "")).strip(), str(form.get("next", "")), expected)

    app.mount("/", inner)
    return app


def _log_in(request: Request, typed: str, next: str, token: str) -> Response:
    if not _is_same(typed, token):
        return show(request, LOGIN, status=403, next=next, told="That is not the token.")
    answer = RedirectResponse(_own_address(next) or link(request, ""), status_code=303)
    is_https = request.url.scheme == "https"
    answer.set_cookie(_cookie(request), token, httponly=True, secure=is_https, samesite="lax")
    return answer


def _guard(token: str) -> Callable[[Request], None]:
    def guard(request: Request) -> None:
        scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
        sent = sent.strip() if scheme.lower() == "bearer" else request.cookies.get(_cookie(request), "")
        if not _is_same(sent, token):
            raise HTTPException(401, "Only who has the token sees this.", {"WWW-Authenticate": "Bearer"})

    return guard


def _is_same(sent: str, token: str) -> bool:
    return secrets.compare_digest(sent.encode(), token.encode())


def _cookie(request: Request) -> str:
    """One a port, since a browser gives a host's cookies to all of its ports."""
    return f"semlabel_web_{request.url.port or 0}"


def _own_address(next: str) -> str:
    """Return where to go on after the login, or nothing where that would be another site."""
    is_own = next.startswith("/") and not next.startswith("//") and "\\" not in next and next.isprintable()
    return next if is_own else ""
