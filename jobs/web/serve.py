"""Serve the auditor's pages by uvicorn until interrupted."""

import socket
import sys
from urllib.parse import urlencode

import uvicorn

from jobs.errors import MissingRequirementError
from jobs.settings import Settings
from jobs.web.login import LOGIN, create_app_with_login, login_token


def serve(settings: Settings, *, host: str, port: int) -> None:
    """Print the link that logs in, and answer.

    Args:
        port: 0 takes a free one.
    Raises:
        MissingRequirementError: the address is taken, or is none of this machine.
    """
    token = login_token(settings)
    listening = listen(host, port)
    sys.stderr.write(f"The auditor's pages (Ctrl+C ends them):\n  {login_link(listening, host, token)}\n")
    sys.stderr.flush()
    # its access log would hold members' ids, and the token of the first visit
    config = uvicorn.Config(create_app_with_login(settings, token), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that whoever has the link is answered."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise MissingRequirementError(
            f"Cannot listen at {host}:{port} ({error.strerror}): give another --host or --port."
        ) from error


def login_link(listening: socket.socket, host: str, token: str) -> str:
    """Return the address that logs in and opens the first page."""
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{listening.getsockname()[1]}/{LOGIN}?{urlencode({'token': token})}"
