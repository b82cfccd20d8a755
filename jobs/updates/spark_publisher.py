"""Publish the runs of micro-batches as a client of one Spark Connect server, which stays warm between them."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs import publish_labels
from jobs.local.connect_server import ConnectServer
from jobs.settings import Settings
from jobs.spark_session import spark_session


class SparkGoneError(Exception):
    """The Connect server that this process started ended; a new process starts another."""


class SparkPublisher:
    """Calls `publish_labels.run`, on a session that is taken anew after a failure: servers end idle sessions."""

    def __init__(self, settings: Settings, server: ConnectServer) -> None:
        self._server = server
        self._settings = settings.model_copy(update={"spark_connect_url": server.url})
        self._opened: SparkSession | None = None
        self._exit = ExitStack()

    def __call__(self, run_id: str) -> Mapping[str, Any]:
        """Publish a run unless it is published.

        Raises:
            SparkGoneError: end this process.
        """
        return self.publish(self._settings, run_id)

    def publish(self, settings: Settings, run_id: str) -> Mapping[str, Any]:
        """Publish a run of the tables that settings name; see `__call__`."""
        if self._server.process is not None and self._server.process.poll() is not None:
            raise SparkGoneError(f"the Spark Connect server ended: see {self._server.log}")
        try:
            return publish_labels.run(self._session(), settings, publish_labels.Params(run_id=run_id))
        except PySparkException:
            self.close()
            raise

    def _session(self) -> SparkSession:
        if self._opened is None:
            self._server.wait_until_listening()
            self._opened = self._exit.enter_context(spark_session(self._settings, "profile updates"))
        return self._opened

    def close(self) -> None:
        """End the session."""
        self._opened = None
        stack, self._exit = self._exit, ExitStack()
        stack.close()
