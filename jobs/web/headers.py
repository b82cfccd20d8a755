"""What a browser may do with a page: run nothing, load nothing from elsewhere, keep nothing."""

from typing import Literal

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Framing = Literal["none", "self"]

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors '{framing}'"
)
# a run's report is one file with its styles and pictures in it
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors '{framing}'"


class SecurityHeaders:
    """Puts the headers on every answer, refusals and errors too."""

    def __init__(self, app: ASGIApp, framing: Framing = "none") -> None:
        self._app = app
        self._headers = {
            "Content-Security-Policy": _POLICY.format(framing=framing),
            "X-Frame-Options": "SAMEORIGIN" if framing == "self" else "DENY",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",  # addresses hold ids of members
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",  # personal data
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add each header that the route has not set itself."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
