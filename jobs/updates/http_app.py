"""The HTTP side of the service: labels, health for whoever starts it, metrics."""

import hmac
from threading import Event
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from jobs.kv.service import http_router
from jobs.kv.store import LabelStore, StoreAwayError
from jobs.updates.inbox import Inbox


def create_app(store: LabelStore, inbox: Inbox, registry: CollectorRegistry, *, token: str, ready: Event) -> FastAPI:
    """Return the pages; with a token, labels and metrics are for whoever sends it.

    Args:
        ready: set once an edit finds all that it needs loaded.
    """
    app = FastAPI(title="semlabel labels", openapi_url=None, docs_url=None, redoc_url=None)
    guard = _guard(token)
    app.include_router(http_router(store, guard))

    @app.get("/health")
    def health() -> dict[str, Any]:
        """Say what waits and what is away; needs no token, and names nobody."""
        figures = inbox.figures()
        found = {"waiting": figures.waiting, "taken": figures.taken, "store": _state_of(store)}
        return found | {"is_ready": ready.is_set()}

    @app.get("/metrics", dependencies=[Depends(guard)])
    def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return app


def _state_of(store: LabelStore) -> str:
    try:
        position = store.position()
    except StoreAwayError:
        return "away"
    return "empty" if position is None else "filled"


def _guard(token: str) -> Any:
    expected = f"Bearer {token}".encode()

    def guard(request: Request) -> None:
        sent = request.headers.get("Authorization", "").encode()
        if token and not hmac.compare_digest(sent, expected):
            raise HTTPException(401, "Only who has the token sees this.", {"WWW-Authenticate": "Bearer"})

    return guard
