"""A gRPC server of the project's jobs: health, reflection, a token, TLS, and a clear status for every fault.

What is above a bound is refused at once, never queued: each service has room for so many calls of its own, so that one
whose database hangs takes no thread from the others.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from jobs.errors import FaultsError, MissingRequirementError
from jobs.settings import Settings
from mis_scoring.core.errors import DataError
from mis_scoring.serving.access import Access
from mis_scoring.serving.login import is_let_in
from mis_scoring.serving.messages import parser_of

_THREADS = 32  # more than all rooms together: health answers, and who is refused is told so, whatever hangs
_CALLS = 256  # accepted at once; those that no thread has taken up wait for one
_MESSAGE_BYTES = 16 * 2**20
_DRAIN_S = 10.0

UPDATES_AT_ONCE, READS_AT_ONCE = 8, 16

_MALFORMED = object()  # gRPC answers INTERNAL, its own fault, where a parser fails or returns None

Method = Callable[[Any, grpc.ServicerContext], Any]


class GrpcServer:
    """Services by their full names; starts at once.

    Raises:
        DataError: see `access_of`.
        MissingRequirementError: the address is taken.
    """

    def __init__(self, settings: Settings, handlers: Mapping[str, grpc.GenericRpcHandler], *, port: int) -> None:
        access = access_of(settings)
        self._server = grpc.server(
            ThreadPoolExecutor(_THREADS),
            interceptors=[_TokenInterceptor(access.token)] if access.token else [],
            maximum_concurrent_rpcs=_CALLS,
            options=[("grpc.max_receive_message_length", _MESSAGE_BYTES), ("grpc.so_reuseport", 0)],
        )
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self._server.add_generic_rpc_handlers(tuple(handlers.values()))
        names = (*handlers, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        self.port = self._listen(access, port)
        self._server.start()
        self._health.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
        for name in handlers:
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def say_ready(self) -> None:
        """Say that the whole is ready, and not the services alone, which answer from the start."""
        self._health.set("", health_pb2.HealthCheckResponse.SERVING)

    def _listen(self, access: Access, port: int) -> int:
        address = f"{access.host}:{port}"
        try:
            if (credentials := access.credentials()) is None:
                return int(self._server.add_insecure_port(address))
            return int(self._server.add_secure_port(address, credentials))
        except RuntimeError as error:
            raise MissingRequirementError(
                f"Cannot listen at {address}: set SEMLABEL_UPDATES_HOST or SEMLABEL_UPDATES_PORT to one that is free."
            ) from error

    def end(self) -> None:
        """Answer what is under way, take nothing new, and return when all is answered."""
        self._health.enter_graceful_shutdown()
        self._server.stop(_DRAIN_S).wait()


def access_of(settings: Settings) -> Access:
    """Return whom the servers of the jobs answer, and over what.

    Raises:
        DataError: lists everything that is missing, can't be used or is not safe.
    """
    access = Access(
        host=settings.updates_host,
        token_file=settings.updates_token_file,
        tls_certificate=settings.updates_tls_certificate,
        tls_key=settings.updates_tls_key,
    )
    if faults := access.faults():
        raise DataError("\n".join(["the settings SEMLABEL_UPDATES_...:", *(f"  - {fault}" for fault in faults)]))
    return access


class Room:
    """How many calls a service has room for."""

    def __init__(self, at_most: int) -> None:
        self._at_most, self._free = at_most, BoundedSemaphore(at_most)

    def holds(self, method: Method, message: Any, context: grpc.ServicerContext) -> Any:
        """Return what the method answers; RESOURCE_EXHAUSTED where there is no room."""
        if not self._free.acquire(blocking=False):
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED, f"{self._at_most} such calls are under way, the most: send later"
            )
        try:
            return method(message, context)
        finally:
            self._free.release()


def unary(method: Method, request: Any, response: Any, room: Room) -> Any:
    """Return the handler of one method: what is no such message is the caller's fault, not the server's.

    Args:
        room: of the method's service.
    """

    def answer(message: Any, context: grpc.ServicerContext) -> Any:
        if message is _MALFORMED:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the message is no {request.DESCRIPTOR.full_name}")
        try:
            return room.holds(method, message, context)
        except FaultsError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

    return grpc.unary_unary_rpc_method_handler(
        answer, parser_of(request, malformed=_MALFORMED), response.SerializeToString
    )


class _TokenInterceptor(grpc.ServerInterceptor):  # type: ignore[misc]
    """Answers UNAUTHENTICATED to calls without the token."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._refuse = grpc.unary_unary_rpc_method_handler(_refuse)

    def intercept_service(self, continuation: Callable[[Any], Any], handler_call_details: Any) -> Any:
        """Hand the call on, or refuse it."""
        if is_let_in(handler_call_details, self._token):
            return continuation(handler_call_details)
        return self._refuse


def _refuse(_: Any, context: grpc.ServicerContext) -> None:
    context.abort(grpc.StatusCode.UNAUTHENTICATED, "send the token as metadata: authorization: Bearer TOKEN")
