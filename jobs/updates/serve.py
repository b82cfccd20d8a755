"""The update service as a process: takes edits, works on them, feeds the key-value store and answers readers.

It takes edits and answers readers from the start, and says that it is ready once the first edit waits for no loading.
What may be away when it starts is waited for; a worker that can't go on ends the process with an error, and whoever
supervises it starts it again: the inbox has all that was acknowledged.
"""

import logging
import signal
import sys
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any

import uvicorn

from jobs.grpc_server import GrpcServer, access_of
from jobs.kv import service as labels_service
from jobs.kv.store import open_store
from jobs.local.connect_server import connect_server
from jobs.settings import Settings
from jobs.updates.http_app import create_app
from jobs.updates.inbox import open_inbox
from jobs.updates.make_scorer import make_scorer, require_scorer_files
from jobs.updates.metrics import UpdateMetrics
from jobs.updates.micro_batch import MicroBatches
from jobs.updates.service import SERVICE, ProfileUpdatesService, handler_of
from jobs.updates.spark_publisher import SparkPublisher
from jobs.updates.warm_up import warm_up
from jobs.updates.worker import Worker
from jobs.web.serve import listen

log = logging.getLogger(__name__)

_HTTP_CALLS = 256  # connections and calls under way; one more gets 503


def serve(settings: Settings) -> None:
    """Serve until it is told to end, by SIGTERM or Ctrl+C; what was taken in and not worked on waits in the inbox.

    Raises:
        DataError: a file of the settings can't be used, or one is missing where others reach the address.
        MissingRequirementError: an address is taken, another service has the inbox.
    """
    wake, ending, ready = Event(), Event(), Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    access = access_of(settings)
    require_scorer_files(settings)
    with ExitStack() as open_:
        inbox, store = open_inbox(settings), open_store(settings)
        open_.callback(inbox.close)
        open_.callback(store.close)
        open_.enter_context(inbox.alone())
        metrics = UpdateMetrics(inbox)
        publisher = SparkPublisher(settings, open_.enter_context(connect_server(settings)))
        open_.callback(publisher.close)
        batches = MicroBatches(settings, make_scorer, publisher)
        open_.callback(batches.close)
        worker = Worker(
            settings=settings, inbox=inbox, store=store, batches=batches, metrics=metrics, wake=wake, ending=ending
        )
        service = ProfileUpdatesService(inbox, metrics, wake=wake.set)
        handlers = {SERVICE: handler_of(service), labels_service.SERVICE: labels_service.grpc_handler(store)}
        server = GrpcServer(settings, handlers, port=settings.updates_port)
        open_.callback(server.end)
        app = create_app(store, inbox, metrics.registry, token=access.token, ready=ready)
        http_port = open_.enter_context(_Http(settings, app))
        sys.stderr.write(
            f"gRPC at {settings.updates_host}:{server.port}, HTTP at {settings.updates_host}:{http_port}\n"
        )
        sys.stderr.flush()
        if settings.updates_warm_up:
            warm_up(settings, batches, publisher.publish, feed=worker.feed)
        ready.set()
        server.say_ready()
        worker.run()


class _Http:
    """Answers by uvicorn in a thread while the block runs; yields its port."""

    def __init__(self, settings: Settings, app: Any) -> None:
        self._listening = listen(settings.updates_host, settings.updates_http_port)
        tls = settings.updates_tls_certificate, settings.updates_tls_key
        # its access log would hold members' ids
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            ssl_certfile=tls[0],
            ssl_keyfile=tls[1],
            limit_concurrency=_HTTP_CALLS,
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [self._listening]}, daemon=True)

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._listening.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
