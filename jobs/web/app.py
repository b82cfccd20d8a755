"""The app of the auditor's pages; who may see them is for the guard that it is given, which every route asks first."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from jobs.errors import MissingRequirementError
from jobs.settings import Settings
from jobs.web import pages
from jobs.web.headers import Framing, SecurityHeaders
from jobs.web.shell import show_error
from mis_scoring.core.errors import DataError


def create_app(settings: Settings, guard: Callable[..., Any], *, framing: Framing = "none") -> FastAPI:
    """Return the app, mountable under any path.

    Args:
        guard: a FastAPI dependency that raises unless the one who asks may see the pages.
        framing: which pages may show these in a frame: none, or those of the same origin.
    """
    app = FastAPI(dependencies=[Depends(guard)], openapi_url=None, docs_url=None, redoc_url=None)
    app.state.settings, app.state.framing = settings, framing
    app.include_router(pages.router)
    app.add_middleware(SecurityHeaders, framing=framing)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _wrongly_asked)
    app.add_exception_handler(MissingRequirementError, _missing)
    app.add_exception_handler(DataError, _bad_value)
    return app


def _refused(request: Request, error: Any) -> Response:
    return show_error(request, error.status_code, error.detail, headers=error.headers)


def _wrongly_asked(request: Request, error: Any) -> Response:
    faults: Sequence[Any] = error.errors()
    told = "; ".join(f"{fault['loc'][-1]}: {fault['msg'].lower()}" for fault in faults)
    return show_error(request, 400, f"This address cannot be understood: {told}.")


def _missing(request: Request, error: Any) -> Response:
    return show_error(request, 404, str(error))


def _bad_value(request: Request, error: Any) -> Response:
    return show_error(request, 400, str(error))
