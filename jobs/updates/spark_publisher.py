"""Publish the runs of micro-batches on one Spark session that the service keeps: starting one takes longer."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs import publish_labels
from jobs.settings import Settings
from jobs.spark_session import spark_session


class SparkGoneError(Exception):
    """The Java process of a session of our own ended; only a new process of ours can start another."""


class SparkPublisher:
    """Calls `publish_labels.run`; a client of a Connect server takes another session after a failure.

    The server ends sessions that are idle for an hour, which the next publication finds.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: SparkSession | None = None
        self._exit = ExitStack()

    def open(self) -> SparkSession:
        """Return the session, started unless it is there."""
        if self._opened is None:
            self._opened = self._exit.enter_context(spark_session(self._settings, "profile updates"))
        return self._opened

    def __call__(self, run_id: str) -> Mapping[str, Any]:
        """Publish a run unless it is published.

        Raises:
            SparkGoneError: end this process.
        """
        try:
            return publish_labels.run(self.open(), self._settings, publish_labels.Params(run_id=run_id))
        except PySparkException:
            if self._settings.spark_connect_url:
                self.close()
            raise
        except (Py4JNetworkError, ConnectionError) as error:
            raise SparkGoneError(f"Spark's Java process is gone: {error}") from error

    def close(self) -> None:
        """End the session."""
        self._opened = None
        stack, self._exit = self._exit, ExitStack()
        stack.close()
