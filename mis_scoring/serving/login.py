"""Who is answered: with a token, only callers that send it as `authorization: Bearer TOKEN`; health needs none.

An orchestrator's health check cannot send one, and learns nothing but whether the server answers.
"""

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

_OPEN = "/grpc.health.v1.Health/"


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """Return the metadata of a call that carries a token; nothing for none."""
    return (("authorization", f"Bearer {token}"),) if token else ()


def is_let_in(call: Any, token: str) -> bool:
    """Whether a call (`grpc.HandlerCallDetails`) sends the token, or asks for health."""
    sent = dict(call.invocation_metadata).get("authorization", "")
    given = sent.encode() if isinstance(sent, str) else sent
    return call.method.startswith(_OPEN) or hmac.compare_digest(given, f"Bearer {token}".encode())


class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Answers UNAUTHENTICATED to calls without the token."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._refuse = grpc.unary_unary_rpc_method_handler(_refuse)

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any) -> Any:
        """Hand the call on, or refuse it."""
        if is_let_in(handler_call_details, self._token):
            return await continuation(handler_call_details)
        return self._refuse


async def _refuse(_: Any, context: Any) -> None:
    await context.abort(
        grpc.StatusCode.UNAUTHENTICATED, "send the server's token as metadata: authorization: Bearer TOKEN"
    )
